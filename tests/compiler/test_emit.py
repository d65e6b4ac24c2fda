"""LLVM text becomes PTX: floating-point rules, libdevice, source places."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cuda.pathfinder import BitcodeLibNotFoundError

from blockstep import knobs
from blockstep.compiler import emit as emitting
from blockstep.compiler import libdevice
from blockstep.compiler.debug_info import DebugInfo
from blockstep.compiler.emit import emit
from blockstep.errors import UnsupportedError
from blockstep.findings import Span
from blockstep.ir import Location


def kernel(body: str, declarations: str = "", after: str = "") -> str:
    """A kernel of one lane: `%v` is read from `%x`, `%r` is written back."""
    return f"""
define ptx_kernel void @k(ptr addrspace(1) %x, float %a) #0 {{
  %v = load float, ptr addrspace(1) %x, align 4
  {body}
  store float %r, ptr addrspace(1) %x, align 4
  ret void
}}
{declarations}
attributes #0 = {{ "nvvm.reqntid"="128" }}
{after}
"""


FUSABLE = "%m = fmul {f} float %v, %a\n  %r = fadd {f} float %m, %a"


def test_only_contractable_operations_are_fused() -> None:
    assert "fma.rn.f32" in emit(kernel(FUSABLE.format(f="contract")))
    strict = emit(kernel(FUSABLE.format(f="")), exact=True)
    assert "mul.rn.f32" in strict
    assert "add.rn.f32" in strict  # without .rn the assembler would fuse them
    assert "fma" not in strict


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%r = fdiv float %v, %a", "div.rn.f32"),
        ("%r = fdiv afn float %v, %a", "div.approx.f32"),
        ("%r = call float @llvm.sqrt.f32(float %v)", "sqrt.rn.f32"),
        ("%r = call afn float @llvm.sqrt.f32(float %v)", "sqrt.approx.f32"),
    ],
)
def test_only_approximable_operations_are_approximated(body: str, expected: str) -> None:
    assert f"\t{expected} " in emit(kernel(body, "declare float @llvm.sqrt.f32(float)"))


@pytest.mark.parametrize(
    "body",
    [
        "%r = fadd contract float %v, %a",
        "%r = fadd nnan ninf float %v, %a",
        "%r = tail call fast float @llvm.fabs.f32(float %v)",
        "%c = fcmp nsz olt float %v, %a\n  %r = select i1 %c, float %v, float %a",
    ],
)
def test_exact_code_may_not_be_relaxed(body: str) -> None:
    with pytest.raises(ValueError, match="exact code has a relaxed operation: %"):
        emit(kernel(body, "declare float @llvm.fabs.f32(float)"), exact=True)


def test_a_function_called_fast_is_not_a_relaxed_operation() -> None:
    text = kernel("%r = call float @fast(float %v)", "declare float @fast(float)")
    assert "fast" in emit(text, exact=True)


def library_call(name: str) -> str:
    return kernel(f"%r = call float @{name}(float %v)", f"declare float @{name}(float)")


def test_a_library_function_is_inlined_and_gone() -> None:
    ptx = emit(library_call("__nv_sinf"))
    assert "__nv_" not in ptx
    assert "__nvvm_reflect" not in ptx
    assert "fma.rn" in ptx
    assert ptx.count(".func") == 0


def test_a_library_function_that_is_not_inlined_stays_inside() -> None:
    text = kernel(
        "%d = fpext float %v to double\n  %s = call double @__nv_pow(double %d, double %d)\n"
        "  %r = fptrunc double %s to float",
        "declare double @__nv_pow(double, double)",
    )
    ptx = emit(text)
    assert "__internal_accurate_pow" in ptx
    assert ".visible .func" not in ptx
    assert ".weak" not in ptx


@pytest.mark.parametrize(
    ("exact", "square_root"), [(False, "sqrt.approx.ftz.f32"), (True, "sqrt.rn.f32")]
)
def test_the_library_is_told_how_exact_the_code_is(exact: bool, square_root: str) -> None:
    ptx = emit(library_call("__nv_sqrtf"), exact=exact)
    assert set(re.findall(r"sqrt\.[\w.]+", ptx)) == {square_root}


@pytest.mark.parametrize(("exact", "flag"), [(False, 0), (True, 1)])
def test_the_module_decides_about_denormals_where_it_says_so(exact: bool, flag: int) -> None:
    flagged = f'!llvm.module.flags = !{{!0}}\n!0 = !{{i32 4, !"nvvm-reflect-ftz", i32 {flag}}}\n'
    text = library_call("__nv_fast_sinf") + flagged
    assert ("sin.approx.ftz.f32" in emit(text, exact=exact)) is bool(flag)
    assert ("sin.approx.ftz.f32" in emit(text.replace(flagged, ""), exact=exact)) is not exact


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("function", ["__nv_sinf", "__nv_log1pf"])
def test_library_code_is_not_contracted_beyond_its_own_fusions(function: str, exact: bool) -> None:
    ptx = emit(library_call(function), exact=exact)
    assert "fma.rn" in ptx
    assert not re.search(r"\t(mul|add|sub)(\.ftz)?\.f(32|64)", ptx)  # these ptxas may fuse


def test_every_library_function_can_be_cut_out() -> None:
    library = libdevice.library(libdevice.path())
    answers = libdevice.Answers(True, False, 900)
    names = [name for name in library.bodies if name.startswith("__nv_")]
    assert len(names) > 300
    text = library.slice(names, answers)
    assert "__nvvm_reflect" not in text
    ptx = emit(text)
    assert all(f" {name}(" in ptx or f"\n{name}(" in ptx for name in names)


def test_a_function_the_library_does_not_have_is_named() -> None:
    with pytest.raises(ValueError, match="libdevice has no function __nv_sinus"):
        emit(library_call("__nv_sinus"))


def test_without_linking_a_library_function_stays_external() -> None:
    assert ".extern .func" in emit(library_call("__nv_sinf"), link_libdevice=False)


def test_a_slice_of_the_library_is_kept_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOCKSTEP_CACHE_DIR", str(tmp_path))
    emitting._library_functions.cache_clear()
    first = emit(library_call("__nv_erff"))
    assert len(list(tmp_path.iterdir())) == 1
    emitting._library_functions.cache_clear()  # as in another process
    monkeypatch.setattr(libdevice, "library", None)
    assert emit(library_call("__nv_erff")) == first


@pytest.fixture
def without_libdevice(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def nothing(name: str) -> str:
        raise BitcodeLibNotFoundError(name)

    monkeypatch.setattr(libdevice, "find_bitcode_lib", nothing)
    with knobs.nvidia.scope():
        knobs.nvidia.libdevice_path = None
        yield


def test_a_missing_library_is_said_with_the_remedy(without_libdevice: None) -> None:
    with pytest.raises(UnsupportedError, match=r"(?s)libdevice.*blockstep\[compile\]"):
        emit(library_call("__nv_sinf"))
    assert "add" in emit(kernel("%r = fadd float %v, %a"))  # what does not call it needs it not


def test_the_library_can_be_chosen(without_libdevice: None) -> None:
    knobs.nvidia.libdevice_path = "/no/such/libdevice.bc"
    with pytest.raises(FileNotFoundError):
        emit(library_call("__nv_sinf"))


def test_the_target_and_the_version_are_those_asked_for() -> None:
    ptx = emit(kernel("%r = fadd float %v, %a"), "sm_80", ptx_version=80)
    assert ".version 8.0\n.target sm_80\n" in ptx


@pytest.mark.parametrize("text", ["nonsense", kernel("%r = fadd float %v, %missing")])
def test_text_that_is_not_llvm_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="LLVM does not accept this module"):
        emit(text)


def test_threads_emit_the_same() -> None:
    text = library_call("__nv_expf")
    results: list[str] = []
    threads = [threading.Thread(target=lambda: results.append(emit(text))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [emit(text)] * 8


FILE = '/home/user/my kernels/söftmax "2".py'
WRITTEN = "/home/user/my kernels/s_ftmax _2_.py"  # what the assembler can read of it
LIBRARY = "/home/user/library.py"


def placed() -> tuple[DebugInfo, str]:
    """A kernel with three places: its own, one in a function it calls, one in another file."""
    info = DebugInfo("k", FILE, 10, first=5)
    call = Span(FILE, 12, 9, function="k")
    inside = Location(Span(LIBRARY, 40, 7, function="helper"), (call,))
    own, generated = Location(Span(FILE, 11, 5)), Location(Span("<string>", 3, 70000))
    text = f"""
define ptx_kernel void @k(ptr addrspace(1) %x, float %a) !dbg {info.kernel} {{
  %v = load float, ptr addrspace(1) %x, align 4, !dbg {info.at(own)}
  %s = call float @__nv_sqrtf(float %v), !dbg {info.at(inside)}
  store float %s, ptr addrspace(1) %x, align 4, !dbg {info.at(generated)}
  ret void, !dbg {info.at(own)}
}}
declare float @__nv_sqrtf(float)
!llvm.module.flags = !{{!0}}
!0 = !{{i32 4, !"nvvm-reflect-ftz", i32 1}}
{info.text()}"""
    return info, text


def test_places_become_file_and_loc_lines() -> None:
    ptx = emit(placed()[1])
    files = dict(re.findall(r'\.file\t(\d+) "(.*)"', ptx))
    numbers = {name: number for number, name in files.items()}
    assert set(numbers) == {WRITTEN, LIBRARY, "<string>"}
    assert f".loc\t{numbers[LIBRARY]} 40 7" in ptx
    assert f".loc\t{numbers['<string>']} 3 0" in ptx
    assert re.search(r"\.loc\t\d 11 5\n\tld\.global", ptx)
    assert "sqrt.approx.ftz" in ptx  # the module's other flags still count


def test_places_bring_no_debug_sections() -> None:
    ptx = emit(placed()[1])
    assert ".debug_info" not in ptx
    assert ".debug_abbrev" not in ptx
    assert re.search(r"^\.target sm_90a$", ptx, re.M)  # and not `sm_90a, debug`


def test_a_node_is_written_once() -> None:
    info = DebugInfo("k", FILE, 10)
    place = Location(Span(FILE, 11, 5))
    assert info.at(place) == info.at(Location(Span(FILE, 11, 5)))
    before = info.text()
    info.at(place)
    assert info.text() == before
    nodes = re.findall(r"^!\d+ = (.*)$", before, re.M)
    assert len(nodes) == len(set(nodes))


def test_a_called_place_names_the_calls_that_led_there() -> None:
    info = DebugInfo("k", FILE, 1)
    spans = [Span(LIBRARY, line, 1, function=f"f{line}") for line in (30, 20)]
    at = info.at(Location(spans[0], (spans[1], Span(FILE, 10, 1))))
    nodes = dict(re.findall(r"^(!\d+) = (.*)$", info.text(), re.M))
    lines: list[str] = []
    place: str | None = at
    while place is not None:
        lines += re.findall(r"line: (\d+)", nodes[place])
        call = re.search(r"inlinedAt: (!\d+)", nodes[place])
        place = call[1] if call else None
    assert lines == ["30", "20", "10"]
