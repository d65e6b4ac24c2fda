"""PTX becomes a cubin, and what the assembler says of it is kept."""

import pytest
from cuda.bindings import nvjitlink
from cuda.pathfinder import DynamicLibNotFoundError

from blockstep.compiler import toolchain
from blockstep.compiler.assemble import assemble
from blockstep.compiler.emit import emit
from blockstep.errors import PTXASError, UnsupportedError
from tests.compiler.test_emit import WRITTEN, kernel, placed


def ptx(body: str, target: str = "sm_90a", before: str = "", after: str = "") -> str:
    """A kernel with 300 float registers and an address in hand."""
    return f""".version 8.4
.target {target}
.address_size 64
{before}
.visible .entry k(.param .u64 p) {after}
{{
  .reg .b32 r<9>; .reg .b64 a; .reg .f32 f<300>; .reg .pred q;
  ld.param.u64 a, [p];
  mov.u32 r1, %tid.x;
  {body}
  ret;
}}
"""


BOTH = pytest.mark.parametrize("assembler", ["nvjitlink", "ptxas"])


@BOTH
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_a_kernel_is_assembled_without_a_gpu(target: str, assembler: str) -> None:
    text = emit(kernel("%r = fadd float %v, %a"), target)
    made = assemble(text, target, assembler=assembler)
    assert made.assembler == assembler
    assert made.cubin.startswith(b"\x7fELF")
    assert 0 < made.registers < 32
    assert (made.spill_stores, made.spill_loads, made.stack, made.shared) == (0, 0, 0, 0)
    assert made.warnings == ()
    assert "Compiling entry function 'k'" in made.log


@BOTH
def test_spills_are_counted(assembler: str) -> None:
    loads = "".join(f"ld.volatile.global.f32 f{i}, [a+{4 * i}];\n" for i in range(280))
    stores = "".join(f"st.volatile.global.f32 [a+{4 * i}], f{i};\n" for i in range(280))
    made = assemble(ptx(loads + "bar.sync 0;\n" + stores), assembler=assembler)
    assert made.registers == 255
    assert min(made.spill_stores, made.spill_loads, made.stack) >= 4 * (280 - 255)


MODULE, LOCAL, DYNAMIC = (
    ".shared .align 16 .b8 sh[2048];",
    ".shared .align 16 .b8 local[512];",
    ".extern .shared .align 16 .b8 dyn[];",
)


def touched(name: str) -> str:
    """A store to shared memory and a load of what another lane wrote."""
    return (
        f"mov.u32 r2, {name}; st.shared.u32 [r2], r1; bar.sync 0; "
        "ld.shared.u32 r3, [r2+4]; st.global.u32 [a], r3;"
    )


@BOTH
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("before", "body", "size"),
    [
        ("", "", 0),
        (MODULE, touched("sh"), 2048),
        ("", LOCAL + touched("local"), 512),
        (MODULE, LOCAL + touched("sh") + touched("local"), 2560),
        (DYNAMIC, touched("dyn"), 0),
        (MODULE + DYNAMIC, touched("sh") + touched("dyn"), 2048),
    ],
)
def test_shared_memory_is_that_of_the_kernel(
    assembler: str, target: str, before: str, body: str, size: int
) -> None:
    assert assemble(ptx(body, target, before), target, assembler=assembler).shared == size


WGMMA = """
  mov.f32 f1, 0f00000000; mov.f32 f2, f1; mov.f32 f3, f1; mov.f32 f4, f1;
  setp.ne.b32 q, r1, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f1,f2,f3,f4}, a, a, q, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  EARLY
  wgmma.wait_group.sync.aligned 0;
  st.global.f32 [a], f1; st.global.f32 [a+8], f3;
"""


@BOTH
def test_a_wgmma_that_must_wait_is_a_warning(assembler: str) -> None:
    assert assemble(ptx(WGMMA.replace("EARLY", "")), assembler=assembler).warnings == ()
    early = ptx(WGMMA.replace("EARLY", "st.global.f32 [a+4], f2;"))
    (warning,) = assemble(early, assembler=assembler).warnings
    assert "(C7517)" in warning


MORE_REGISTERS = "setmaxnreg.inc.sync.aligned.u32 64;"
BOUND = ".reqntid 128 .maxnreg 56"


def test_setmaxnreg_has_an_effect() -> None:
    made = assemble(ptx(MORE_REGISTERS, after=BOUND))
    assert made.warnings == ()
    assert made.registers == 56


def test_a_setmaxnreg_that_is_ignored_is_a_warning() -> None:
    (unbound,) = assemble(ptx(MORE_REGISTERS)).warnings
    assert "'setmaxnreg' ignored" in unbound
    (linked,) = assemble(ptx(MORE_REGISTERS, after=BOUND), assembler="nvjitlink").warnings
    assert "(C7504)" in linked


@BOTH
def test_an_error_shows_the_line_of_ptx(assembler: str) -> None:
    with pytest.raises(PTXASError) as caught:
        assemble(ptx("add.q64 a, a, a;"), assembler=assembler)
    said = str(caught.value)
    assert "Unknown modifier '.q64'" in said
    assert ">    10 |   add.q64 a, a, a;" in said
    assert said.count(">") == 1


@BOTH
@pytest.mark.parametrize("target", ["sm_80", "sm_7777"])
def test_a_target_that_does_not_fit_is_an_error_of_the_assembler(
    target: str, assembler: str
) -> None:
    with pytest.raises(PTXASError):
        assemble(ptx("", "sm_90a"), target, assembler=assembler)


@BOTH
def test_a_broken_text_is_an_error_of_the_assembler(assembler: str) -> None:
    with pytest.raises(PTXASError):
        assemble("hello", assembler=assembler)


def test_a_missing_assembler_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object) -> int:
        raise DynamicLibNotFoundError("libnvJitLink.so")

    monkeypatch.setattr(nvjitlink, "create", nothing)
    with pytest.raises(UnsupportedError, match=r"(?s)nvJitLink.*blockstep\[compile\]"):
        assemble(ptx(""))


def test_a_missing_ptxas_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(toolchain.PTXAS, raising=False)
    monkeypatch.setattr(toolchain, "_installed_ptxas", lambda: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnsupportedError, match=r"(?s)ptxas.*blockstep\[compile\]"):
        assemble(ptx(MORE_REGISTERS, after=BOUND))
    assert assemble(ptx("")).assembler == "nvjitlink"  # which is installed


@BOTH
def test_lines_of_python_are_in_the_cubin(assembler: str) -> None:
    with_places = assemble(emit(placed()[1]), assembler=assembler).cubin
    assert b".debug_line" in with_places
    assert WRITTEN.rpartition("/")[2].encode() in with_places
    without = assemble(emit(kernel("%r = fadd float %v, %a")), assembler=assembler).cubin
    assert b".debug_line" not in without
