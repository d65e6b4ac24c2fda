"""What one instruction computes from the values of its operands. Source: PTX ISA 8.7, chapter 9.

Approximate instructions give the true value rounded to their type, as the language's own functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from blockstep.language import numerics
from blockstep.language.assembly.words import NAMES, TYPES, is_float, pair_of, value, word
from blockstep.language.numerics import integers
from blockstep.language.ops.elementwise import IDIV, IREM, MAXIMUM, MINIMUM

Compute = Callable[..., Any]


def _in_double(function: Compute) -> Compute:
    return lambda x: function(x.astype(np.float64)).astype(x.dtype)


FLOAT_UNARY: dict[str, Compute] = {
    "ex2": _in_double(np.exp2),
    "lg2": _in_double(np.log2),
    "tanh": _in_double(np.tanh),
    "sin": _in_double(np.sin),
    "cos": _in_double(np.cos),
    "sqrt": _in_double(np.sqrt),
    "rsqrt": _in_double(lambda x: 1 / np.sqrt(x)),
    "rcp": _in_double(lambda x: 1 / x),
}
UNARY: dict[str, Compute] = {
    "neg": np.negative,
    "abs": np.abs,
    "not": np.invert,
    "popc": integers.popc,
    "clz": integers.clz,
    "brev": integers.brev,
}
BINARY: dict[str, Compute] = {
    "add": np.add,
    "sub": np.subtract,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
COMPARISONS: dict[str, Compute] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}


def extremum(name: str, parts: tuple[str, ...], kind: str) -> Compute:
    if not is_float(kind) or "NaN" in parts:
        return np.minimum if name == "min" else np.maximum
    meaning = (MINIMUM if name == "min" else MAXIMUM).meaning
    assert meaning is not None
    return cast(Compute, meaning)


def multiply(x: Any, y: Any, parts: tuple[str, ...]) -> Any:
    """`mul.lo`, `mul.hi` and `mul.wide` of integers, `mul` of floats."""
    if "wide" in parts:
        wide = np.dtype(f"{x.dtype.kind}{2 * x.dtype.itemsize}")
        return x.astype(wide) * y.astype(wide)
    return integers.mulhi(x, y) if "hi" in parts else np.multiply(x, y)


def quotient(x: Any, y: Any) -> Any:
    """Of integers toward zero, as the language's own; by zero, all ones."""
    if x.dtype.kind not in "iu":
        return np.true_divide(x, y).astype(x.dtype)
    return cast(Compute, IDIV.meaning)(x, y)


def remainder(x: Any, y: Any) -> Any:
    """With the sign of the dividend; by zero, all ones."""
    return cast(Compute, IREM.meaning)(x, y)


def shift(x: Any, count: Any, left: bool) -> Any:
    """Counts past the width give 0, or copies of the sign bit to the right."""
    bits = 8 * x.dtype.itemsize
    near = np.minimum(count, bits - 1).astype(x.dtype)
    moved = np.left_shift(x, near) if left else np.right_shift(x, near)
    past = np.zeros_like(x) if left or x.dtype.kind == "u" else np.right_shift(moved, bits - 1)
    return np.where(count >= bits, past, moved)


def funnel(low: Any, high: Any, count: Any, left: bool, wrap: bool) -> Any:
    """32 bits of `high:low` shifted by a count that wraps at 32 or stops there."""
    count = (count & 31 if wrap else np.minimum(count, 32)).astype(np.uint64)
    both = high.astype(np.uint64) << np.uint64(32) | low
    moved = both << count >> np.uint64(32) if left else both >> count
    return moved.astype(np.uint32)


def extract(x: Any, start: Any, length: Any) -> Any:
    """`bfe`: `length` bits from bit `start` on, of a number that goes on above its top bit."""
    start, length = np.minimum(start & 255, 63), np.minimum(length & 255, 32)
    moved = x.astype(np.int64) >> start.astype(np.int64)
    above = (64 - np.maximum(length, 1)).astype(np.int64)
    field = moved << above
    signed = x.dtype.kind == "i"
    field = field >> above if signed else (field.view(np.uint64) >> above.view(np.uint64))
    return np.where(length == 0, 0, field).astype(x.dtype)


def truth_table(a: Any, b: Any, c: Any, table: int) -> Any:
    """`lop3`: bit i of the result is bit `4 a_i + 2 b_i + c_i` of the table."""
    out = np.zeros_like(a)
    for row in range(8):
        if table >> row & 1:
            picked = (a if row & 4 else ~a) & (b if row & 2 else ~b)
            out = out | (picked & (c if row & 1 else ~c))
    return out


def fused(x: Any, y: Any, z: Any) -> Any:
    return numerics.fma(x, y, z)


_INTEGER_ROUNDING = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def convert(words: list[Any], parts: tuple[str, ...], target: str, source: str) -> Any:
    """`cvt`: the result as words. Two sources, or a pair, make a pair: the first is the high half."""
    to_half, from_half = pair_of(target), pair_of(source)
    if to_half is not None and from_half is None:
        low, high = (_converted(value(w, source), parts, to_half, source) for w in words[::-1])
        return word(np.stack(np.broadcast_arrays(low, high), axis=-1), target)
    x = value(words[0], source)
    return word(_converted(x, parts, to_half or target, from_half or source), target)


def _converted(x: Any, parts: tuple[str, ...], target: str, source: str) -> Any:
    if "relu" in parts:
        x = np.maximum(x, np.zeros_like(x))
    if target == "tf32":
        return numerics.tf32_rna(x)
    rounded = next((_INTEGER_ROUNDING[p] for p in parts if p in _INTEGER_ROUNDING), None)
    if rounded is not None:
        x = rounded(x.astype(np.float64)).astype(x.dtype)
        if is_float(target):
            return x
    if "sat" in parts and is_float(target):
        x = np.clip(x, 0, 1)
    mode = "rtz" if "rz" in parts and TYPES[target][1] < TYPES[source][1] else None
    return np.asarray(numerics.convert(x, NAMES[source], NAMES[target], mode))
