"""Every cell of the tables of result types, and what does not compile, through real kernels."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.language import types as ty
from tests.ops import promotion_functions, promotion_tables
from tests.ops.kernels import BF16, FP8E4, FP8E5, note, noted, result_type

STORED = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "fp16": np.float16,
    "bf16": BF16, "fp32": np.float32, "fp64": np.float64, "fp8e4nv": FP8E4, "fp8e5": FP8E5,
}  # fmt: skip


def short(kind: ty.dtype) -> str:
    """The name that the tables use."""
    return str(kind.scalar).replace("uint", "u").replace("int", "i")


def found(fn: Any, *arrays: Any) -> str:
    """The element type of `fn`'s result; "-" when it does not compile."""
    try:
        return short(result_type(fn, *arrays))
    except triton.CompilationError:
        return "-"


def ones(name: str, *shape: int) -> Any:
    return np.ones(shape or (2,), STORED[name])


@triton.jit
def add(x, y):
    return x + y


@triton.jit
def sub(x, y):
    return x - y


@triton.jit
def mul(x, y):
    return x * y


@triton.jit
def where(x, y):
    return tl.where(tl.arange(0, 2) == 0, x, y)


@triton.jit
def and_(x, y):
    return x & y


@triton.jit
def or_(x, y):
    return x | y


@triton.jit
def xor(x, y):
    return x ^ y


@triton.jit
def shl(x, y):
    return x << y


@triton.jit
def shr(x, y):
    return x >> y


@triton.jit
def div(x, y):
    return x / y


@triton.jit
def maximum(x, y):
    return tl.maximum(x, y)


@triton.jit
def minimum(x, y):
    return tl.minimum(x, y)


@triton.jit
def less(x, y):
    return x < y


@triton.jit
def floordiv(x, y):
    return x // y


@triton.jit
def mod(x, y):
    return x % y


OF_TWO = {
    promotion: tables
    for tables, functions in (
        (promotion_tables.ARITHMETIC, (add, sub, mul, where)),
        (promotion_tables.BITS, (and_, or_, xor, shl, shr)),
        (promotion_tables.DIVISION, (div,)),
        (promotion_tables.EXTREMA, (maximum, minimum)),
    )
    for promotion in functions
}


@pytest.mark.parametrize("left", STORED)
@pytest.mark.parametrize("fn", OF_TWO, ids=lambda fn: fn.__name__)
def test_two_blocks(fn: Any, left: str) -> None:
    row = {right: found(fn, ones(left), ones(right)) for right in STORED}
    assert row == OF_TWO[fn][left]


@pytest.mark.parametrize("left", STORED)
def test_integer_division_wants_one_signedness(left: str) -> None:
    """`//` of integers has the type of `+`, `%` also takes floats; the rest does not compile."""
    for right in STORED:
        divides = promotion_tables.DIVISION[left][right] != "-"
        integers = left[0] in "iu" and right[0] in "iu"
        promoted = promotion_tables.ARITHMETIC[left][right]
        wanted = promoted if divides and integers else "-"
        assert found(floordiv, ones(left), ones(right)) == wanted
        remainder = wanted if integers else promotion_tables.DIVISION[left][right]
        assert found(mod, ones(left), ones(right)) == remainder, right


@pytest.mark.parametrize("left", STORED)
def test_comparisons_give_int1(left: str) -> None:
    for right in STORED:
        wanted = "-" if promotion_tables.ARITHMETIC[left][right] == "-" else "i1"
        assert found(less, ones(left), ones(right)) == wanted


@triton.jit
def with_literal(x, OP: tl.constexpr, LITERAL: tl.constexpr):
    note(OP(tl.load(x + tl.arange(0, 2)), LITERAL).type)


def found_with(fn: Any, left: str, literal: Any) -> str:
    """The element type of a block and a Python number; "-" when it does not compile."""
    noted()
    try:
        with_literal[(1,)](ones(left), OP=fn, LITERAL=literal)
    except triton.CompilationError:
        return "-"
    return short(noted()[0])


LITERALS = {
    promotion: tables
    for tables, functions in (
        (promotion_tables.LITERAL_ARITHMETIC, (add, sub, mul, where)),
        (promotion_tables.LITERAL_DIVISION, (div,)),
        (promotion_tables.LITERAL_EXTREMA, (maximum, minimum)),
    )
    for promotion in functions
}


@pytest.mark.parametrize("left", STORED)
@pytest.mark.parametrize("fn", LITERALS, ids=lambda fn: fn.__name__)
def test_a_block_and_a_literal(fn: Any, left: str) -> None:
    wanted = LITERALS[fn][left]
    assert {text: found_with(fn, left, ast.literal_eval(text)) for text in wanted} == wanted


@pytest.mark.parametrize("name", promotion_tables.UNARY)
def test_functions_of_one_block(name: str) -> None:
    fn = getattr(promotion_functions, name)
    row = {kind: found(fn, ones(kind, 32, 32)) for kind in STORED}
    assert row == promotion_tables.UNARY[name]
