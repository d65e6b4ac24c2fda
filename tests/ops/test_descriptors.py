"""Tensor descriptors, made by the kernel and by the host: blocks, edges, rows, atomics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.tools.tensor_descriptor import TensorDescriptor
from tests.ops.kernels import BF16, clean, same

TABLE = np.arange(10 * 16, dtype=np.float32).reshape(10, 16)


@triton.jit
def move(
    x_ptr, out_ptr, rows, columns, stride, row, column,
    M: tl.constexpr, N: tl.constexpr, PADDING: tl.constexpr,
):  # fmt: skip
    x = tl.make_tensor_descriptor(x_ptr, [rows, columns], [stride, 1], [M, N], PADDING)
    out = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [M, N])
    out.store([0, 0], x.load([row, column]))


def block_at(table: Any, row: int, column: int, padding: str = "zero") -> Any:
    out = np.zeros((4, 8), table.dtype)
    stride = table.strides[0] // table.itemsize
    with triton.check() as report:
        move[(1,)](table, out, *table.shape, stride, row, column, M=4, N=8, PADDING=padding)
    clean(report)
    return out


def padded(table: Any, row: int, column: int, fill: Any = 0) -> Any:
    margin = np.full((table.shape[0] + 40, table.shape[1] + 40), fill, table.dtype)
    margin[20 : 20 + table.shape[0], 20 : 20 + table.shape[1]] = table
    return margin[20 + row : 24 + row, 20 + column : 28 + column]


@pytest.mark.parametrize("place", [(0, 0), (3, 5), (8, 12), (-2, -3), (10, 16)])
def test_elements_outside_are_zero_or_nan(place: tuple[int, int]) -> None:
    same(block_at(TABLE, *place), padded(TABLE, *place))
    same(block_at(TABLE, *place, "nan"), padded(TABLE, *place, np.nan))


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.uint64, np.float16, BF16, np.float64])
def test_every_element_type(kind: Any) -> None:
    table = TABLE.astype(kind)
    same(block_at(table, 7, 11), padded(table, 7, 11))


def test_a_view_with_wider_rows() -> None:
    inner = TABLE[2:7, :12]
    same(block_at(inner, 3, 6), padded(inner, 3, 6))


def test_a_64_bit_shape_is_cut_to_32_bits() -> None:
    out = np.zeros((4, 8), np.float32)
    rows, columns = (n + 2**32 for n in TABLE.shape)
    with triton.check() as report:
        move[(1,)](TABLE, out, rows, columns, 16, 8, 12, M=4, N=8, PADDING="zero")
    same(out, padded(TABLE, 8, 12))
    assert {f.kind for f in report.findings} == {"cast"}


@triton.jit
def put(out_ptr, row, column):
    out = tl.make_tensor_descriptor(out_ptr, [10, 16], [16, 1], [4, 8])
    out.store([row, column], tl.full([4, 8], 3, tl.int32))


def test_a_store_is_cast_and_drops_what_is_outside() -> None:
    out, expected = np.zeros((10, 16), np.float32), np.zeros((10, 16), np.float32)
    with triton.check() as report:
        put[(1,)](out, 8, 12)
        put[(1,)](out, -2, -4)
    clean(report)
    expected[8:, 12:], expected[:2, :4] = 3, 3
    same(out, expected)


SHAPES = {1: (40,), 2: (6, 24), 3: (3, 5, 24), 4: (2, 3, 5, 24), 5: (2, 2, 3, 5, 24)}


@triton.jit
def ranked(x, out, OFFSETS: tl.constexpr):
    tl.store_tensor_descriptor(out, [0] * len(OFFSETS), tl.load_tensor_descriptor(x, OFFSETS))


@pytest.mark.parametrize("rank", SHAPES)
def test_one_to_five_dimensions_from_the_host(rank: int) -> None:
    shape = SHAPES[rank]
    table = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    block, offsets = [2] * (rank - 1) + [16], [1] * (rank - 1) + [12]
    out = np.zeros(block, np.float32)
    expected = np.zeros(block, np.float32)
    inside = table[tuple(slice(o, o + n) for o, n in zip(offsets, block, strict=True))]
    expected[tuple(slice(n) for n in inside.shape)] = inside
    make = TensorDescriptor.from_tensor
    with triton.check() as report:
        ranked[(1,)](make(table, block), make(out, block), OFFSETS=tuple(offsets))
    clean(report)
    same(out, expected)


@triton.jit
def properties(x):
    tl.static_assert(x.dtype == tl.float16)
    tl.static_assert(x.block_shape == (2, 16))
    tl.static_assert(x.block_type == tl.block_type(tl.float16, [2, 16]))
    tl.device_assert(x.shape[0] == 4)
    tl.device_assert(x.strides[0] == 16)


def test_a_descriptor_tells_what_it_describes() -> None:
    table = np.zeros((4, 16), np.float16)
    properties[(1,)](TensorDescriptor(table, [4, 16], [16, 1], [2, 16]))


# Rows


@triton.jit
def gather(x_ptr, rows_ptr, out_ptr, column):
    x = tl.make_tensor_descriptor(x_ptr, [10, 16], [16, 1], [1, 8])
    rows = tl.load(rows_ptr + tl.arange(0, 8))
    i, j = tl.arange(0, 8)[:, None], tl.arange(0, 8)[None, :]
    tl.store(out_ptr + i * 8 + j, x.gather(rows, column))


@triton.jit
def scatter(x_ptr, rows_ptr, out_ptr, column):
    out = tl.make_tensor_descriptor(out_ptr, [10, 16], [16, 1], [1, 8])
    i, j = tl.arange(0, 8)[:, None], tl.arange(0, 8)[None, :]
    out.scatter(tl.load(x_ptr + i * 8 + j), tl.load(rows_ptr + tl.arange(0, 8)), column)


ROWS = np.array([9, 0, 3, 3, 10, -1, 7, 2], np.int32)


@pytest.mark.parametrize("column", [0, 4, 12, -3])
def test_rows_are_gathered(column: int) -> None:
    out = np.ones((8, 8), np.float32)
    with triton.check() as report:
        gather[(1,)](TABLE.copy(), ROWS, out, column)
    clean(report)
    same(out, np.vstack([padded(TABLE, int(r), column)[:1] for r in ROWS]))


@pytest.mark.parametrize("column", [0, 12, -3])
def test_rows_are_scattered(column: int) -> None:
    x, out = np.arange(1, 65, dtype=np.float32).reshape(8, 8), np.zeros((10, 16), np.float32)
    rows = np.array([9, 0, 3, 10, -1, 7, 2, 1], np.int32)
    with triton.check() as report:
        scatter[(1,)](x, rows, out, column)
    clean(report)
    margin = np.zeros((50, 56), np.float32)
    for source, row in zip(x, rows, strict=True):
        margin[20 + row, 20 + column : 28 + column] = source
    same(out, margin[20:30, 20:36])


# Atomics


@triton.jit
def update(out_ptr, x_ptr, OP: tl.constexpr):
    out = tl.make_tensor_descriptor(out_ptr, [6, 16], [16, 1], [4, 16])
    x = tl.make_tensor_descriptor(x_ptr, [4, 16], [16, 1], [4, 16])
    value = x.load([0, 0])
    if OP == "add":
        out.atomic_add([3, 0], value)
    elif OP == "min":
        out.atomic_min([3, 0], value)
    elif OP == "max":
        out.atomic_max([3, 0], value)
    elif OP == "and":
        out.atomic_and([3, 0], value)
    elif OP == "or":
        out.atomic_or([3, 0], value)
    else:
        out.atomic_xor([3, 0], value)


COMBINE: dict[str, Any] = {
    "add": np.add, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
TAKEN = {
    "add": [np.uint32, np.int32, np.uint64, np.float32, np.float16, BF16],
    "min": [np.uint32, np.int32, np.uint64, np.int64, np.float16, BF16],
    "max": [np.uint32, np.int32, np.uint64, np.int64, np.float16, BF16],
    "and": [np.uint32, np.int32, np.uint64, np.int64],
    "or": [np.uint32, np.int32, np.uint64, np.int64],
    "xor": [np.uint32, np.int32, np.uint64, np.int64],
}
ALL = [np.uint32, np.int32, np.uint64, np.int64, np.float16, BF16, np.float32, np.float64, np.int16]


@pytest.mark.parametrize(("op", "kind"), [(op, kind) for op in TAKEN for kind in ALL])
def test_atomics(op: str, kind: Any) -> None:
    x = (np.arange(64).reshape(4, 16) % 7).astype(kind)
    out = (np.arange(96).reshape(6, 16) % 5).astype(kind)
    if kind not in TAKEN[op]:
        with pytest.raises(triton.CompilationError, match="does not support"):
            update[(1,)](out, x, OP=op)
        return
    expected = out.copy()
    expected[3:] = COMBINE[op](out[3:], x[:3])
    with triton.check() as report:
        update[(1,)](out, x, OP=op)
    clean(report)
    same(out, expected)


# What is refused


@triton.jit
def make(x_ptr, SHAPE: tl.constexpr, STRIDES: tl.constexpr, BLOCK: tl.constexpr, PAD: tl.constexpr):
    tl.make_tensor_descriptor(x_ptr, SHAPE, STRIDES, BLOCK, PAD)


@pytest.mark.parametrize(
    ("shape", "strides", "block", "padding", "text"),
    [
        ((16,), (1,), (2,), "zero", "16 bytes"),
        ((4, 4), (4, 2), (4, 4), "zero", "last dim"),
        ((4, 4), (4,), (4, 4), "zero", "strides"),
        ((1,) * 6, (1,) * 6, (4,) * 6, "zero", "ndim"),
        ((16,), (1,), (16,), "nan", "nan"),
        ((16,), (1,), (16,), "edge", "edge"),
    ],
)
def test_what_the_hardware_cannot_take(
    shape: Any, strides: Any, block: Any, padding: str, text: str
) -> None:
    with pytest.raises(triton.CompilationError, match=text):
        make[(1,)](np.zeros(16, np.int32), shape, strides, block, padding)


@triton.jit
def few_rows(x_ptr):
    x = tl.make_tensor_descriptor(x_ptr, [10, 16], [16, 1], [1, 8])
    x.gather(tl.arange(0, 4), 0)


@triton.jit
def few_columns(x_ptr):
    x = tl.make_tensor_descriptor(x_ptr, [10, 16], [16, 1], [1, 4])
    x.gather(tl.arange(0, 8), 0)


@triton.jit
def many_block_rows(x_ptr):
    x = tl.make_tensor_descriptor(x_ptr, [10, 16], [16, 1], [2, 8])
    x.gather(tl.arange(0, 8), 0)


@triton.jit
def wrong_value(x_ptr):
    x = tl.make_tensor_descriptor(x_ptr, [10, 16], [16, 1], [2, 8])
    x.store([0, 0], tl.zeros([8, 2], tl.float32))


@triton.jit
def wrong_offsets(x_ptr):
    x = tl.make_tensor_descriptor(x_ptr, [10, 16], [16, 1], [2, 8])
    x.load([0])


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (few_rows, "at least 8 rows"),
        (few_columns, "at least 8 columns"),
        (many_block_rows, r"\[1, n\]"),
        (wrong_value, r"\[8, 2\]"),
        (wrong_offsets, "2 offsets"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_misuse_is_named(kernel: Any, text: str) -> None:
    with pytest.raises(triton.CompilationError, match=text):
        kernel[(1,)](TABLE.copy())


@pytest.mark.parametrize(
    ("shape", "strides", "block", "text"),
    [
        ((8, 8), (8, 2), (8, 8), "contiguous"),
        ((8, 8), (6, 1), (8, 8), "16-byte"),
        ((8, 8), (8, 1), (8,), "rank"),
        ((8, 8), (8, 1), (8, 3), "power of 2"),
        ((0, 8), (8, 1), (8, 8), "positive"),
    ],
)
def test_the_host_is_told_at_once(shape: Any, strides: Any, block: Any, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        TensorDescriptor(np.zeros(64, np.float16), list(shape), list(strides), list(block))
