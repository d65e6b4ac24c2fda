"""Block pointers: which elements, what lies outside, moving, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.ops.kernels import clean, same

TABLE = np.arange(6 * 10, dtype=np.float32).reshape(6, 10)


@triton.jit
def corner(
    x_ptr, out_ptr, ROWS, COLUMNS, row, column, s0, s1,
    M: tl.constexpr, N: tl.constexpr, CHECK: tl.constexpr, PADDING: tl.constexpr,
    ORDER: tl.constexpr,
):  # fmt: skip
    block = tl.make_block_ptr(x_ptr, (ROWS, COLUMNS), (s0, s1), (row, column), (M, N), ORDER)
    value = tl.load(block, boundary_check=CHECK, padding_option=PADDING)
    out = tl.make_block_ptr(out_ptr, (M, N), (N, 1), (0, 0), (M, N), (1, 0))
    tl.store(out, value)


def block_at(
    table: Any, row: int, column: int, check: Any = (0, 1), padding: str = "zero", order: Any = (1, 0)
) -> Any:  # fmt: skip
    """The 4 x 8 block at (row, column)."""
    out = np.full((4, 8), 77, table.dtype)
    strides = [s // table.itemsize for s in table.strides]
    with triton.check() as report:
        corner[(1,)](
            table, out, *table.shape, row, column, *strides,
            M=4, N=8, CHECK=check, PADDING=padding, ORDER=order,
        )  # fmt: skip
    clean(report)
    return out


def padded(table: Any, row: int, column: int, fill: Any = 0) -> Any:
    """The same by an array with a wide margin."""
    margin = np.full((table.shape[0] + 40, table.shape[1] + 40), fill, table.dtype)
    margin[20 : 20 + table.shape[0], 20 : 20 + table.shape[1]] = table
    return margin[20 + row : 24 + row, 20 + column : 28 + column]


@pytest.mark.parametrize("place", [(0, 0), (1, 2), (3, 5), (-2, -3), (5, 9), (6, 10), (-4, 0)])
def test_elements_outside_are_zero(place: tuple[int, int]) -> None:
    same(block_at(TABLE, *place), padded(TABLE, *place))


def test_elements_outside_are_nan_if_asked_for() -> None:
    same(block_at(TABLE, 3, 5, padding="nan"), padded(TABLE, 3, 5, np.nan))


@pytest.mark.parametrize(("check", "place"), [((0,), (4, 1)), ((1,), (1, 6)), ((), (2, 2))])
def test_only_the_named_axes_are_guarded(check: Any, place: tuple[int, int]) -> None:
    padding = "zero" if check else ""
    same(block_at(TABLE, *place, check=check, padding=padding), padded(TABLE, *place))


@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
@pytest.mark.parametrize("table", [TABLE.T.copy().T, TABLE[::1], np.asfortranarray(TABLE)])
def test_strides_say_where_and_the_order_is_a_hint(table: Any, order: Any) -> None:
    same(block_at(table, 1, 1, order=order), padded(TABLE, 1, 1))


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.int64, np.uint16, np.float16, np.float64])
def test_every_element_type(kind: Any) -> None:
    table = TABLE.astype(kind)
    same(block_at(table, 4, 4), padded(table, 4, 4))


def test_a_view_is_guarded_by_the_shape_that_is_given() -> None:
    inner = TABLE[1:4, 2:9]
    same(block_at(inner, 1, 1), padded(inner, 1, 1))


@triton.jit
def fill(out_ptr, row, column, CHECK: tl.constexpr):
    block = tl.make_block_ptr(out_ptr, (6, 10), (10, 1), (row, column), (4, 8), (1, 0))
    tl.store(block, tl.full([4, 8], 5.0, tl.float32), boundary_check=CHECK)


def test_a_store_drops_what_is_outside() -> None:
    for row, column in ((0, 0), (4, 7), (-1, -1)):
        out, expected = np.zeros((6, 10), np.float32), np.zeros((6, 10), np.float32)
        rows, columns = slice(max(row, 0), row + 4), slice(max(column, 0), column + 8)
        expected[rows, columns] = 5
        with triton.check() as report:
            fill[(1,)](out, row, column, CHECK=(0, 1))
        clean(report)
        same(out, expected)


@triton.jit
def walk(x_ptr, out_ptr, N: tl.constexpr):
    block = tl.make_block_ptr(x_ptr, (N,), (1,), (0,), (8,), (0,))
    total = tl.zeros([8], tl.int32)
    for _ in range(0, N, 8):
        total += tl.load(block, boundary_check=(0,), padding_option="zero")
        block = tl.advance(block, (8,))
    tl.store(out_ptr + tl.arange(0, 8), total)


@triton.jit
def back_and_forth(x_ptr, out_ptr):
    block = tl.make_block_ptr(x_ptr, (6, 10), (10, 1), (2, 2), (2, 2), (1, 0))
    first = block
    block = block.advance((1, 4))
    block = tl.advance(block, [-1, -2])
    here = tl.make_block_ptr(out_ptr, (2, 4), (4, 1), (0, 0), (2, 2), (1, 0))
    tl.store(here, tl.load(block))
    tl.store(tl.advance(here, (0, 2)), tl.load(first))


def test_advance_walks_along_an_axis() -> None:
    x, out = np.arange(30, dtype=np.int32), np.zeros(8, np.int32)
    with triton.check() as report:
        walk[(1,)](x, out, N=30)
    clean(report)
    same(out, np.pad(x, (0, 2)).reshape(4, 8).sum(0, dtype=np.int32))


def test_advance_makes_a_new_pointer() -> None:
    out = np.zeros((2, 4), np.float32)
    back_and_forth[(1,)](TABLE.copy(), out)
    same(out, np.hstack([TABLE[2:4, 4:6], TABLE[2:4, 2:4]]))


@triton.jit
def element_type(x_ptr, out_ptr):
    block = tl.make_block_ptr(x_ptr, (8,), (1,), (0,), (8,), (0,))
    tl.static_assert(block.dtype.element_ty == tl.block_type(tl.float16, [8]))
    tl.store(out_ptr + tl.arange(0, 8), tl.load(block).to(block.type.element_ty.element_ty))


def test_the_type_is_a_pointer_to_a_block() -> None:
    x, out = np.arange(8, dtype=np.float16), np.zeros(8, np.float16)
    element_type[(1,)](x, out)
    same(out, x)


# What is refused


@triton.jit
def load_masked(b):
    tl.load(b, mask=tl.full([8], True, tl.int1))


@triton.jit
def load_unknown_padding(b):
    tl.load(b, boundary_check=(0,), padding_option="edge")


@triton.jit
def load_nan_of_integers(b):
    tl.load(b, boundary_check=(0,), padding_option="nan")


@triton.jit
def check_an_axis_that_is_not_there(b):
    tl.load(b, boundary_check=(1,))


@triton.jit
def check_an_axis_twice(b):
    tl.load(b, boundary_check=(0, 0))


@triton.jit
def store_another_type(b):
    tl.store(b, tl.zeros([8], tl.float32))


@triton.jit
def store_another_shape(b):
    tl.store(b, tl.zeros([4], tl.int32))


@triton.jit
def advance_too_far(b):
    b = tl.advance(b, (1, 1))


@triton.jit
def advance_by_64_bits(b):
    b = tl.advance(b, (tl.program_id(0).to(tl.int64),))


@triton.jit
def drop_what_advance_gives(b):
    tl.advance(b, (1,))


@triton.jit
def try_block(x_ptr, USE: tl.constexpr):
    USE(tl.make_block_ptr(x_ptr, (8,), (1,), (0,), (8,), (0,)))


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (load_masked, "mask"),
        (load_unknown_padding, "edge"),
        (load_nan_of_integers, "nan"),
        (check_an_axis_that_is_not_there, "axis 1"),
        (check_an_axis_twice, "Duplicate"),
        (store_another_type, "fp32"),
        (store_another_shape, r"\[4\]"),
        (advance_too_far, "one offset"),
        (advance_by_64_bits, "32 bit"),
        (drop_what_advance_gives, "advance"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_misuse_is_named(use: Any, text: str) -> None:
    with pytest.raises(triton.CompilationError, match=text):
        try_block[(1,)](np.zeros(8, np.int32), USE=use)


@triton.jit
def wrong_order(x_ptr):
    tl.make_block_ptr(x_ptr, (8, 8), (8, 1), (0, 0), (8, 8), (2, 0))


@triton.jit
def wrong_rank(x_ptr):
    tl.make_block_ptr(x_ptr, (8, 8), (1,), (0, 0), (8, 8), (1, 0))


@triton.jit
def block_of_pointers(x_ptr):
    tl.make_block_ptr(x_ptr + tl.arange(0, 8), (8,), (1,), (0,), (8,), (0,))


@triton.jit
def boundary_of_a_plain_pointer(x_ptr):
    tl.load(x_ptr + tl.arange(0, 8), boundary_check=(0,))


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (wrong_order, "permutation"),
        (wrong_rank, "same length"),
        (block_of_pointers, "pointer type"),
        (boundary_of_a_plain_pointer, "boundary_check"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_makes_no_block_pointer(kernel: Any, text: str) -> None:
    with pytest.raises(triton.CompilationError, match=text):
        kernel[(1,)](np.zeros(64, np.int32))
