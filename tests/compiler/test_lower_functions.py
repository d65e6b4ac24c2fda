"""Philox, libdevice, boxes, inline assembly, prints, assertions and clocks, as they are lowered."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler import layouts
from blockstep.compiler import libdevice as library
from blockstep.compiler.faults import FAULTS
from blockstep.compiler.lower import LOWERINGS, Lowering
from blockstep.compiler.lower.libdevice import symbol
from blockstep.compiler.lower.text import Item, scalar_type
from blockstep.compiler.placement.wishes import WISHES
from blockstep.errors import UnsupportedError
from blockstep.ir import Function, Layout, Operation
from blockstep.language import types as ty
from blockstep.language.ops.assembly import ASM_PACKED
from blockstep.language.ops.box import BOX_MASK, BOX_POINTERS
from blockstep.language.ops.libdevice import LIBDEVICE, Overload
from blockstep.language.ops.random import PHILOX
from tests.compiler import on_host
from tests.compiler.lowered import TARGETS, compiled

WARPS = (1, 2, 4, 8)
F32, I32 = np.zeros(1024, np.float32), np.zeros(1024, np.int32)

# Philox


@pytest.mark.parametrize("word", range(4))
def test_philox_gives_the_words_of_its_meaning(word: int) -> None:
    counters = np.random.default_rng(0).integers(0, 2**32, 500, np.uint32)

    def rule(lw: Lowering, x: Item) -> Item:
        others = [lw.constant(n, ty.uint32) for n in (7, 2**31, 0, 12345, 99)]
        return lw.compute("philox", {"rounds": 10}, [ty.uint32] * 4, [x, *others])[word]

    found = on_host.run(rule, ty.uint32, ty.uint32, counters)
    others = [np.uint32(n) for n in (7, 2**31, 0, 12345, 99)]
    assert PHILOX.meaning is not None
    np.testing.assert_array_equal(found, PHILOX.meaning(counters, *others, rounds=10)[word])


@triton.jit
def numbers(out_ptr, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.rand(seed, i))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("num_warps", WARPS)
def test_random_numbers_assemble(num_warps: int, target: str) -> None:
    assert "mul.wide.u32" in compiled(numbers, (F32, 5, 1024), target, num_warps).ptx


# libdevice


def overloads() -> list[Any]:
    return [
        pytest.param(f.name, o, id=f"{f.name}-{'-'.join(o.operands)}")
        for f in LIBDEVICE.values()
        for o in f.overloads
    ]


@pytest.mark.parametrize(("name", "overload"), overloads())
def test_the_library_has_every_overload(name: str, overload: Overload) -> None:
    bodies = library.library(library.path()).bodies
    found = bodies[symbol(name, overload.operands)]
    head = re.match(r"define (?:internal )?(\S+) @\S+?\((.*?)\)", found)
    assert head is not None
    given = [argument.split()[0] for argument in head[2].split(", ")]
    assert given == [scalar_type(getattr(ty, t)) for t in overload.operands]
    result = getattr(ty, overload.result)
    assert head[1] == ("i32" if result.is_int1() else scalar_type(result))


@triton.jit
def library_calls(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.extra.libdevice.hypot(x, x)  # type: ignore[attr-defined]
    y = tl.extra.libdevice.fma_rd(y, x, x)  # type: ignore[attr-defined]
    odd = tl.extra.libdevice.isnan(y)  # type: ignore[attr-defined]
    tl.store(out_ptr + i, tl.where(odd, x, y))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_libdevice_is_linked(kind: type, target: str) -> None:
    x: np.ndarray[Any, Any] = np.zeros(256, kind)
    text = compiled(library_calls, (x, x.copy(), 256), target).ptx
    assert f"fma.rm.{'f64' if kind is np.float64 else 'ftz.f32'}" in text
    assert "__nv_" not in text


# Boxes, against the meaning, at every lane


def box(
    op: Any, kinds: list[ty.dtype], values: list[int], result: ty.dtype, layout: Layout,
    attributes: dict[str, Any],
) -> np.ndarray:  # fmt: skip
    """What each register of each lane holds: a row for each register."""
    function = Function("box", kinds, [f"p{i}" for i in range(len(kinds))])

    def register(number: int) -> np.ndarray:
        def rule(lw: Lowering, thread: Item) -> Item:
            lw.lane = lw.b.value(f"and i32 {thread.name}, 31")
            lw.warp = lw.b.value(f"lshr i32 {thread.name}, 5")
            for parameter, value in zip(function.parameters, values, strict=True):
                lw.bind(parameter, Item(str(value), parameter.type))
            operation = Operation(op, list(function.parameters), [result], attributes)
            operation.results[0].layout = layout
            LOWERINGS[op.name](lw, operation)
            return Item(lw.parts(lw[operation.results[0]])[number], result.scalar)

        threads = np.arange(32 * layout.num_warps, dtype=np.uint32)
        return on_host.run(rule, ty.int32, result.scalar, threads)

    return np.stack([register(r) for r in range(layout.per_lane)])


def held(x: Any, layout: Layout) -> np.ndarray:
    """The elements of a block, as `box` gives them."""
    flat = np.ravel(x)
    threads = range(32 * layout.num_warps)
    return np.array(
        [
            [flat[layout.element(r, t % 32, t // 32)] for t in threads]
            for r in range(layout.per_lane)
        ]
    )


LAYOUTS = [
    layouts.coalesced((8, 16), (1, 0), 4, 2),
    layouts.coalesced((8, 16), (0, 1), 2, 1),
    layouts.coalesced((2, 4), (1, 0), 1, 4),
    Layout((4, 32), (3, 64), (1, 2, 4, 8, 16), (32,)),  # bits that meet
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_pointers_of_a_box(layout: Layout) -> None:
    values = [1 << 40, -3, 5, 1000, -2]
    kinds = [ty.pointer_type(ty.float32), ty.int32, ty.int64, ty.int64, ty.int32]
    told = {"shape": layout.shape, "itemsize": 4}
    found = box(BOX_POINTERS, kinds, values, ty.blocked(kinds[0], layout.shape), layout, told)
    assert BOX_POINTERS.meaning is not None
    wanted = BOX_POINTERS.meaning(*values, **told)
    np.testing.assert_array_equal(found.view(np.int64), held(wanted, layout))


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), ()])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_masks_of_a_box(layout: Layout, axes: tuple[int, ...]) -> None:
    limits = {0: (-2, 3), 1: (1, 9)}
    values = [limits[a][0] for a in axes] + [limits[a][1] for a in axes]
    told = {"shape": layout.shape, "axes": axes}
    kinds = [ty.int32] * len(values)
    found = box(BOX_MASK, kinds, values, ty.blocked(ty.int1, layout.shape), layout, told)
    assert BOX_MASK.meaning is not None
    np.testing.assert_array_equal(found != 0, held(BOX_MASK.meaning(*values, **told), layout))


# Inline assembly


@triton.jit
def assembled(
    x_ptr, out_ptr, TEXT: tl.constexpr, RULES: tl.constexpr, PURE: tl.constexpr,
    PACK: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise(TEXT, RULES, [x], out_ptr.dtype.element_ty, PURE, PACK)
    tl.store(out_ptr + i, y)


CASES = [
    ("xor.b32 $0, $1, 7;", "=r,r", 1, np.int32),
    ("and.b32 $0, $1, 0x1F1F1F1F; shl.b32 $0, $0, 3;", "=r,r", 4, np.uint8),
    ("abs.f16x2 $0, $1;", "=r,r", 2, np.float16),
    ("mov.b16 $0, $1;", "=h,h", 1, np.float16),
    ("mov.b32 $0, $1;", "=r, 0", 1, np.float32),
    ("mov.b32 $0, $1;", "=r,r", 1, np.uint8),
    ("neg.f64 $0, $1;", "=d,d", 1, np.float64),
    ("{ .reg .pred p; setp.gt.f32 p, $1, 0.0; selp.f32 $0, $1, 0.0, p; }", "=f,f", 1, np.float32),
    ("not.b32 $0, $2; not.b32 $1, $3;", "=r,=r,r,r", 4, ml_dtypes.bfloat16),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [2, 64, 2048])
@pytest.mark.parametrize(("text", "rules", "pack", "kind"), CASES)
def test_inline_assembly(text: str, rules: str, pack: int, kind: type, n: int, target: str) -> None:
    x: np.ndarray[Any, Any] = np.zeros(n, kind)
    made = compiled(assembled, (x, x.copy(), text, rules, True, pack, n), target).ptx
    assert re.findall(r"\w+(?:\.\w+)+", text)[-1] in made


def test_bytes_share_a_register() -> None:
    x = np.zeros(512, np.uint8)
    case = ("xor.b32 $0, $1, 0x0f0f0f0f;", "=r,r", True, 4, 512)
    made = compiled(assembled, (x, x.copy(), *case)).ptx
    assert made.count("xor.b32") == made.count("0x0f0f0f0f") == 1  # 4 bytes a lane


@pytest.mark.parametrize("pure", [True, False])
def test_impure_assembly_stays(pure: bool) -> None:
    @triton.jit
    def twice(x_ptr, out_ptr, PURE: tl.constexpr):
        a = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], tl.int64, PURE, 1)
        b = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], tl.int64, PURE, 1)
        tl.store(out_ptr, b - a)

    out = np.zeros(1, np.int64)
    assert compiled(twice, (F32, out, pure)).ptx.count("%globaltimer") == (1 if pure else 2)


def test_a_wrong_number_of_registers_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="1 output and 2 input constraints"):
        compiled(assembled, (F32, F32, "add.f32 $0, $1, $2;", "=f,f,f", True, 1, 64))


def test_groups_of_neighbours_are_asked_for() -> None:
    function = Function("f", [ty.blocked(ty.uint8, (256,))], ["x"])
    told = {"program": None, "types": (ty.uint8,), "pack": 4}
    operation = Operation(
        ASM_PACKED, list(function.parameters), [function.parameters[0].type], told
    )
    wish = WISHES["asm_packed"]
    fits = layouts.coalesced((256,), (0,), 8, 1)
    assert wish(operation, fits) == fits
    for other in (
        layouts.coalesced((256,), (0,), 2, 1),
        Layout((256,), (4, 2, 1), (8, 16, 32, 64, 128), ()),
    ):
        made = wish(operation, other)
        for lane in range(32):
            elements = [made.element(r, lane, 0) for r in range(made.per_lane)]
            starts = elements[::4]
            assert all(s % 4 == 0 for s in starts)
            assert elements == [s + k for s in starts for k in range(4)]


# Prints, assertions, clocks


@triton.jit
def printed(x_ptr, n, N: tl.constexpr, HEX: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.device_print("100% of x", x, hex=HEX)
    tl.device_print("n", n, n + 1)
    tl.device_print("here")


def format_strings(text: str) -> list[str]:
    found = re.findall(r'constant \[\d+ x i8\] c"([^"]*)"', text)
    return [re.sub(r"\\(..)", lambda m: chr(int(m[1], 16)), f).rstrip("\0") for f in found]


@pytest.mark.parametrize(
    ("kind", "plain", "hexadecimal"),
    [
        (np.float32, "%f", "0x%08x"), (np.float16, "%f", "0x%04x"), (np.int8, "%d", "0x%02x"),
        (np.uint64, "%llu", "0x%016llx"), (np.int64, "%lld", "0x%016llx"), (bool, "%u", "0x%02x"),
        (ml_dtypes.float8_e5m2, "%f", "0x%02x"),
    ],
)  # fmt: skip
def test_a_line_for_each_element(kind: type, plain: str, hexadecimal: str) -> None:
    for as_hex, pattern in ((False, plain), (True, hexadecimal)):
        made = compiled(printed, (np.zeros(128, kind), 3, 128, as_hex))
        assert format_strings(made.module.text) == [
            f"pid (%u, %u, %u) idx (%3u) 100%% of x: {pattern}\n",
            "pid (%u, %u, %u) idx () n: (operand 0) %d\n",
            "pid (%u, %u, %u) idx () n: (operand 1) %d\n",
            "pid (%u, %u, %u) here\n",
        ]
        assert made.ptx.count("vprintf, (") == 4


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("num_warps", WARPS)
def test_lines_of_copies_are_written_once(num_warps: int, target: str) -> None:
    text = compiled(printed, (np.zeros(16, np.int32), 3, 16, False), target, num_warps).module.text
    idle = 16 | (num_warps - 1) << 5  # lanes 16 to 31 and the other warps hold copies
    assert re.search(rf"and i32 %v\d+, {idle}\b", text)


@triton.jit
def asserted(x_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.device_assert(x > 0, "x is positive", mask=i < n)
    tl.device_assert(n > 2)
    tl.store(x_ptr + i, x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("num_warps", WARPS)
def test_a_failed_assertion_is_recorded_and_ends_the_cta(num_warps: int, target: str) -> None:
    made = compiled(asserted, (F32, 4, 256), target, num_warps)
    assert [p.name for p in made.module.parameters] == ["x_ptr", "n", FAULTS]
    messages = [(message, span.line) for message, span in made.module.sites]
    assert [m for m, _ in messages] == ["x is positive", ""]
    assert messages[0][1] == messages[1][1] - 1
    assert made.ptx.count("atom.relaxed.sys.global.cas.b32") == 2
    together = "vote.sync.any" if num_warps == 1 else "bar.red.or"
    assert made.ptx.count(together) == 1  # a scalar condition is the same in all lanes
    assert "trap" not in made.ptx


def test_kernels_without_assertions_have_no_record() -> None:
    assert FAULTS not in [p.name for p in compiled(numbers, (F32, 5, 64)).module.parameters]


@triton.jit
def timed(out_ptr):
    start = tl.extra.cuda.globaltimer()
    tl.extra.cuda.gdc_wait()
    tl.extra.cuda.gdc_launch_dependents()
    while tl.extra.cuda.globaltimer() < start + 100:
        pass
    tl.store(out_ptr, start)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("num_warps", WARPS)
def test_all_lanes_see_one_time(num_warps: int, target: str) -> None:
    text = compiled(timed, (np.zeros(1, np.int64),), target, num_warps).ptx
    read = text.index("%globaltimer")
    assert text.find("shfl.sync.idx" if num_warps == 1 else "st.shared", read) > 0
    assert ("griddepcontrol.wait" in text) == (target == "sm_90a")
    assert ("griddepcontrol.launch_dependents" in text) == (target == "sm_90a")


@triton.jit
def placed(out_ptr):
    tl.store(out_ptr + tl.program_id(0), tl.extra.cuda.smid())


@pytest.mark.parametrize("num_ctas", [1, 2])
def test_the_multiprocessor_is_read_from_its_register(num_ctas: int) -> None:
    text = compiled(placed, (np.zeros(4, np.int32),), num_ctas=num_ctas).ptx
    assert text.count("%smid") == 1
    assert ("mapa.shared::cluster" in text) == (num_ctas == 2)  # a cluster goes by its first CTA


@triton.jit
def promised(x_ptr, at_ptr, HOW: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N) + tl.load(at_ptr)
    if HOW == "dropped":
        tl.max_contiguous(tl.multiple_of(i, N), N)
    elif HOW == "kept":
        i = tl.max_contiguous(tl.multiple_of(i, N), N)
    tl.store(x_ptr + i, tl.load(x_ptr + i) + 1)


@pytest.mark.parametrize(("how", "wide"), [("dropped", True), ("kept", True), ("", False)])
def test_a_promise_counts_for_its_value(how: str, wide: bool) -> None:
    text = compiled(promised, (F32, np.zeros(1, np.int32), how, 512)).ptx
    assert ("ld.global.v4.b32" in text) == ("st.global.v4.b32" in text) == wide
