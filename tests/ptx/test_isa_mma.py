"""Matrix instructions: where fragments lie, and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from blockstep.compiler.layouts import named
from blockstep.interp.ptx.isa import Instruction, Unsupported, form
from blockstep.interp.ptx.isa import mma as matrices
from blockstep.interp.ptx.isa.registry import WIDTH
from blockstep.ir.layout import Layout, xor

LANES = np.arange(32)


def instruction(name: str) -> Instruction:
    opcode, *modifiers = name.split(".")
    types = tuple(m for m in modifiers if m in WIDTH or m in matrices.BITS)
    return Instruction(opcode, tuple(modifiers), types, 1, ())


def _element(layout: Layout, register: int, lane: int, warp: int = 0) -> tuple[int, int]:
    flat = xor(layout.registers, register) ^ xor(layout.lanes, lane) ^ xor(layout.warps, warp)
    row, column = divmod(flat, layout.shape[1])
    return row, column


@pytest.mark.parametrize("itemsize", (1, 2, 4))
def test_fragments_lie_where_the_compiler_lays_them(itemsize: int) -> None:
    per, k = 4 // itemsize, 32 // itemsize
    c = named.mma_accumulator((16, 8), (1, 1))
    a = named.mma_operand(c, 0, k, itemsize)
    b = named.mma_operand(c, 1, k, itemsize)
    for lane in range(32):
        for element in range(4):
            assert matrices.c_position(lane, element) == _element(c, element, lane)
        for element in range(4 * per):
            register, slot = divmod(element, per)
            where = matrices.a_position(lane, register, slot, per)
            assert where == _element(a, element, lane)
        for element in range(2 * per):
            register, slot = divmod(element, per)
            where = matrices.b_position(lane, register, slot, per)
            assert where == _element(b, element, lane)


@pytest.mark.parametrize("n", (8, 64, 256))
def test_accumulators_of_a_warpgroup_lie_where_the_compiler_lays_them(n: int) -> None:
    layout = named.wgmma_accumulator((64, n), 4, n)
    for warp in range(4):
        for lane in (0, 5, 31):
            for element in range(n // 2):
                where = matrices.c_position(lane, element, warp)
                assert where == _element(layout, element, lane, warp)


# (elements' bits as random codes, what they mean), by type.
Meaning = Callable[[Any], Any]


def _ml(kind: Any) -> Meaning:
    return lambda codes: codes.astype(np.uint8).view(kind).astype(np.float64)


MEANINGS: dict[str, Meaning] = {
    "f16": lambda c: c.astype(np.uint16).view(np.float16).astype(np.float64),
    "bf16": lambda c: c.astype(np.uint16).view(ml_dtypes.bfloat16).astype(np.float64),
    "tf32": lambda c: (c.astype(np.uint32) >> 13 << 13).view(np.float32).astype(np.float64),
    "f64": lambda c: c.astype(np.uint64).view(np.float64),
    "e4m3": _ml(ml_dtypes.float8_e4m3fn),
    "e5m2": _ml(ml_dtypes.float8_e5m2),
    "e3m2": _ml(ml_dtypes.float6_e3m2fn),
    "e2m3": _ml(ml_dtypes.float6_e2m3fn),
    "e2m1": lambda c: _ml(ml_dtypes.float4_e2m1fn)(c >> 2 & 15),
    "s8": lambda c: np.where(c > 127, c - 256.0, c),
    "u8": lambda c: c.astype(np.float64),
    "s4": lambda c: np.where(c > 7, c - 16.0, c),
    "u4": lambda c: c.astype(np.float64),
    "b1": lambda c: c.astype(np.float64),
}


def _codes(random: np.random.Generator, type: str, shape: tuple[int, ...]) -> Any:
    """Random elements of middling size, as integers."""
    values = random.standard_normal(shape)
    if type == "f64":
        return values.view(np.uint64).astype(object)
    if type == "tf32":
        return values.astype(np.float32).view(np.uint32).astype(np.int64)
    if type == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.int64)
    if type == "bf16":
        return values.astype(ml_dtypes.bfloat16).view(np.uint16).astype(np.int64)
    if type in ("e4m3", "e5m2"):
        kind = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}[type]
        return values.astype(kind).view(np.uint8).astype(np.int64)
    bits = {"e3m2": 6, "e2m3": 6, "e2m1": 6, "s4": 4, "u4": 4, "b1": 1}.get(type, 8)
    return random.integers(1 << bits, size=shape)


def _spread(codes: Any, count: int, type: str, position: Callable[..., Any]) -> list[Any]:
    """A matrix (warps, rows, columns) of codes as registers (1, threads), element by element."""
    bits = matrices.BITS[type]
    per = max(1, 32 // bits)
    registers = []
    for register in range(count):
        words = np.zeros((codes.shape[0], 32), object)
        for slot in range(per):
            row, column = position(LANES, register, slot, per)
            words = words + codes[:, row, column].astype(object) * (1 << slot * bits)
        kind = np.uint64 if bits == 64 else np.uint32
        registers.append(words.reshape(1, -1).astype(kind))
    return registers


def _c_registers(c: Any, rows: int) -> list[Any]:
    """An accumulator (warps, rows, 8) as registers (1, threads)."""
    columns = []
    for element in range(rows // 4):
        row, column = matrices.c_position(LANES, element)
        columns.append(c[:, row, column].reshape(1, -1))
    if c.dtype == np.float16:
        halves = [x.view(np.uint16).astype(np.uint32) for x in columns]
        return [low | high << 16 for low, high in zip(halves[::2], halves[1::2], strict=True)]
    return [x.view(np.uint64 if c.dtype == np.float64 else np.uint32) for x in columns]


FLOAT_FORMS = [
    ("m16n8k16", "f32", "f16", "f16", "f32"), ("m16n8k8", "f32", "f16", "f16", "f32"),
    ("m16n8k16", "f16", "f16", "f16", "f16"), ("m16n8k8", "f16", "f16", "f16", "f16"),
    ("m16n8k16", "f32", "bf16", "bf16", "f32"), ("m16n8k8", "f32", "bf16", "bf16", "f32"),
    ("m16n8k8", "f32", "tf32", "tf32", "f32"), ("m16n8k4", "f32", "tf32", "tf32", "f32"),
    ("m16n8k32", "f32", "e4m3", "e4m3", "f32"), ("m16n8k32", "f32", "e4m3", "e5m2", "f32"),
    ("m16n8k16", "f16", "e5m2", "e4m3", "f16"), ("m16n8k32", "f16", "e5m2", "e5m2", "f16"),
    ("m8n8k4", "f64", "f64", "f64", "f64"), ("m16n8k4", "f64", "f64", "f64", "f64"),
    ("m16n8k8", "f64", "f64", "f64", "f64"), ("m16n8k16", "f64", "f64", "f64", "f64"),
    ("m16n8k32", "kind::f8f6f4.f32", "e3m2", "e2m1", "f32"),
    ("m16n8k32", "kind::f8f6f4.f32", "e2m3", "e4m3", "f32"),
]  # fmt: skip
INTEGER_FORMS = [
    ("m16n8k32", "s8", "s8"), ("m16n8k16", "u8", "s8"), ("m8n8k16", "s8", "u8"),
    ("m16n8k64", "s4", "u4"), ("m16n8k32", "u4", "u4"), ("m8n8k32", "s4", "s4"),
]  # fmt: skip


def _operands(shape: str, a: str, b: str, warps: int = 3) -> tuple[Any, Any, list[Any], int]:
    """A and B as f64 matrices and as registers, and the rows."""
    m, k = int(shape[1 : shape.index("n")]), int(shape[shape.index("k") + 1 :])
    random = np.random.default_rng(0)
    of_a, of_b = _codes(random, a, (warps, m, k)), _codes(random, b, (warps, k, 8))
    per_a, per_b = (max(1, 32 // matrices.BITS[t]) for t in (a, b))
    x = _spread(
        of_a,
        m * k // 32 // per_a,
        a,
        lambda lane, r, slot, per: matrices.a_position(lane, r, slot, per, m),
    )
    y = _spread(of_b, 8 * k // 32 // per_b, b, matrices.b_position)
    return MEANINGS[a](of_a), MEANINGS[b](of_b), x + y, m


@pytest.mark.parametrize(("shape", "d", "a", "b", "c"), FLOAT_FORMS)
def test_products_of_floats(shape: str, d: str, a: str, b: str, c: str) -> None:
    x, y, registers, m = _operands(shape, a, b)
    kind = {"f32": np.float32, "f16": np.float16, "f64": np.float64}[c]
    start = np.random.default_rng(1).standard_normal((3, m, 8)).astype(kind)
    f = form(instruction(f"mma.sync.aligned.{shape}.row.col.{d}.{a}.{b}.{c}"))
    operands = registers + _c_registers(start, m)
    assert len(operands) == len(f.sources)
    got = f.compute(*operands)
    exact = x @ y + start
    want = _c_registers(exact.astype(kind), m)
    assert len(got) == len(want) == len(f.results)
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        half = g.view(np.float16) if c == "f16" else g.view(kind)
        np.testing.assert_allclose(
            half, w.view(half.dtype), rtol={"f16": 1e-3, "f32": 2e-7, "f64": 1e-14}[c], atol=1e-14
        )


@pytest.mark.parametrize("satfinite", ("", ".satfinite"))
@pytest.mark.parametrize(("shape", "a", "b"), INTEGER_FORMS)
def test_products_of_integers(shape: str, a: str, b: str, satfinite: str) -> None:
    x, y, registers, m = _operands(shape, a, b)
    start = np.random.default_rng(1).integers(-(2**31), 2**31, (3, m, 8)).astype(np.int32)
    start[:, 0], start[:, 1] = 2**31 - 1, -(2**31)
    f = form(instruction(f"mma.sync.aligned.{shape}.row.col{satfinite}.s32.{a}.{b}.s32"))
    got = f.compute(*registers, *_c_registers(start, m))
    exact = (x @ y).astype(np.int64) + start
    want = exact.clip(-(2**31), 2**31 - 1) if satfinite else exact
    assert (exact != exact.astype(np.int32)).any()
    for g, w in zip(got, _c_registers(want.astype(np.int32), m), strict=True):
        assert (g == w).all()


@pytest.mark.parametrize("shape", ("m16n8k256", "m16n8k128", "m8n8k128"))
@pytest.mark.parametrize("operation", ("and", "xor"))
def test_bits_are_counted(shape: str, operation: str) -> None:
    x, y, registers, m = _operands(shape, "b1", "b1")
    start = np.arange(3 * m * 8, dtype=np.int32).reshape(3, m, 8)
    name = f"mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.{operation}.popc"
    got = form(instruction(name)).compute(*registers, *_c_registers(start, m))
    pairs = x[:, :, :, None] != y[:, None] if operation == "xor" else x[:, :, :, None] * y[:, None]
    want = (pairs.sum(2) + start).astype(np.int32)
    for g, w in zip(got, _c_registers(want, m), strict=True):
        assert (g == w).all()


def test_operands_may_be_the_same_for_all_threads() -> None:
    f = form(instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    ones, zero = np.full((2, 64), 0x3C003C00, np.uint32), np.zeros((1, 1), np.uint32)
    got = f.compute(ones, ones[:, :1], ones[:1], ones, ones, ones, *[zero] * 4)
    assert all(g.shape == (2, 64) and (g.view(np.float32) == 16).all() for g in got)
    with pytest.raises(ValueError, match="no whole warps"):
        f.compute(*[zero] * 10)


def test_infinite_sums_are_the_nan_of_the_hardware() -> None:
    f = form(instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    infinite, minus = np.full((1, 32), 0x7C00, np.uint32), np.full((1, 32), 0x3C00BC00, np.uint32)
    zero = np.zeros((1, 32), np.uint32)
    got = f.compute(*[infinite | infinite << 16] * 4, minus, minus, *[zero] * 4)
    assert all((g == 0x7FFFFFFF).all() for g in got)


@pytest.mark.parametrize(("n", "k", "types"), (
    (8, 16, "f32.f16.f16"), (128, 16, "f16.f16.f16"), (64, 16, "f32.bf16.bf16"),
    (256, 8, "f32.tf32.tf32"), (24, 32, "f32.e4m3.e5m2"), (32, 32, "s32.s8.u8"),
))  # fmt: skip
def test_a_warpgroup_multiplies(n: int, k: int, types: str) -> None:
    d, a, b = types.split(".")
    w = matrices.wgmma(instruction(f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types}"))
    assert (w.n, w.k, w.registers) == (n, k, n // 2 if d != "f16" else n // 4)
    random = np.random.default_rng(2)
    codes = _codes(random, a, (8, 16, k))  # two warpgroups
    registers = _spread(codes, w.a_registers, a, matrices.a_position)
    of_a = w.a(registers)
    assert (of_a == MEANINGS[a](codes).reshape(2, 64, k)[None]).all()
    of_b = MEANINGS[b](_codes(random, b, (1, k, n)))
    first = w(of_a, of_b, None)
    second = w(of_a, of_b, first)
    assert first.shape == (1, 2, 64, n)
    np.testing.assert_allclose(second, 2 * (of_a @ of_b), rtol=2e-3 if d == "f16" else 1e-6)
    back = w.fragment(second)
    assert len(back) == w.registers and back[0].shape == (1, 256)
    assert (w.accumulator(back) == second).all()


def test_registers_of_an_accumulator_follow_the_positions() -> None:
    w = matrices.wgmma(instruction("wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16"))
    tile = np.arange(64 * 32, dtype=np.float32).reshape(1, 64, 32)
    for element, register in enumerate(w.fragment(tile)):
        thread = np.arange(128)
        row, column = matrices.c_position(thread % 32, element, thread // 32)
        assert (register.view(np.float32) == row * 32 + column).all()


@pytest.mark.parametrize("name", (
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32",
    "mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16",
    "mma.sync.aligned.m16n8k32.row.col.f32.e3m2.e3m2.f32",
    "mma.sync.aligned.m16n8k32.row.col.satfinite.f32.e4m3.e4m3.f32",
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32",
    "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.m16n8k16.row.col.f32.f16.f16.f32",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
))  # fmt: skip
def test_matrix_forms_that_are_not_there_are_refused(name: str) -> None:
    with pytest.raises(Unsupported):
        form(instruction(name))


@pytest.mark.parametrize("rest", ("m64n12k16.f32.f16.f16", "m64n8k8.f32.f16.f16",
                                  "m64n264k16.f32.f16.f16", "m32n8k16.f32.f16.f16",
                                  "m64n40k32.s32.s8.s8", "m64n8k16.f16.bf16.bf16",
                                  "m64n8k32.s32.s8.u4", "sp.m64n8k32.f32.f16.f16"))  # fmt: skip
def test_warpgroup_forms_that_are_not_there_are_refused(rest: str) -> None:
    with pytest.raises(Unsupported):
        matrices.wgmma(instruction(f"wgmma.mma_async.sync.aligned.{rest}"))
