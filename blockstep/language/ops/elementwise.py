"""Elementwise operations: arithmetic, comparisons, bits, selection, casts.

Operands have been promoted and broadcast: within one operation they share a type and a shape
(selection: the condition is int1). Integers wrap. `/` and `%` on integers truncate toward zero, as
C and PTX do. Division by zero and shifts past the width have no defined result: here they give
what PTX's instructions give on sm_90 (all ones; 0 or the sign), and the arithmetic checker marks
the elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.language import numerics
from blockstep.language import types as ty
from blockstep.language.op import Family, define, same

_E = Family.ELEMENTWISE


def _boolean(x: ty.dtype, *_: ty.dtype, **__: Any) -> ty.dtype:
    return ty.blocked(ty.int1, x.shape)


def _plain(name: str, meaning: Any, doc: str, *, wraps: bool = False) -> Any:
    return define(name, _E, same, meaning, doc, wraps=wraps)


def _add(x: Any, y: Any) -> Any:
    return np.logical_xor(x, y) if x.dtype.char == "?" else np.add(x, y)


def _subtract(x: Any, y: Any) -> Any:
    return np.logical_xor(x, y) if x.dtype.char == "?" else np.subtract(x, y)


ADD = _plain("add", _add, "`n, n -> n`: the sum; int1 adds modulo 2.", wraps=True)
SUB = _plain("sub", _subtract, "`n, n -> n`: the difference; int1 modulo 2.", wraps=True)
MUL = _plain("mul", np.multiply, "`n, n -> n`: the product.", wraps=True)


def _truncated_quotient(x: Any, y: Any) -> Any:
    """Toward zero; by zero, all ones (PTX leaves it unspecified; the hardware gives that)."""
    zero = y == 0
    safe = np.where(zero, np.ones_like(y), y)
    quotient = np.floor_divide(x, safe)
    if x.dtype.kind == "i":
        inexact = (quotient * safe != x) & ((x < 0) != (safe < 0))
        quotient = quotient + inexact.astype(x.dtype)
    return np.where(zero, np.array(-1).astype(x.dtype), quotient)


def _remainder(x: Any, y: Any) -> Any:
    """The sign of the dividend (C's `%`); by zero, all ones (as the quotient: measured on sm_90)."""
    safe = np.where(y == 0, np.ones_like(y), y)
    return np.where(y == 0, np.array(-1).astype(x.dtype), np.fmod(x, safe))


def _float_remainder(x: Any, y: Any) -> Any:
    """x - trunc(x / y) * y with a rounded quotient and one fused subtraction, as PTX has it: once
    x / y has more digits than the format, the result is no remainder any more. x beside an
    infinite y; -8.0 % 2.0 is +0.0. 16-bit floats are widened for it."""
    if x.dtype.itemsize < 4:
        wide = _float_remainder(x.astype(np.float32), y.astype(np.float32))
        return wide.astype(x.dtype)
    with np.errstate(all="ignore"):
        whole = np.trunc(np.true_divide(x, y)).astype(x.dtype)
        return np.where(np.isinf(y), x, numerics.fma(-whole, y, x))


def _float_divide(x: Any, y: Any) -> Any:
    quotient = np.true_divide(x, y)
    return quotient if quotient.dtype is x.dtype else quotient.astype(x.dtype)


FDIV = _plain("fdiv", _float_divide, "`n, n -> n`: the quotient of floats.")
DIV_RN = _plain("div_rn", _float_divide, "`n, n -> n`: the quotient, rounded to nearest even.")
IDIV = _plain("idiv", _truncated_quotient, "`n, n -> n`: integer quotient toward zero.")
IREM = _plain("irem", _remainder, "`n, n -> n`: integer remainder, sign of the dividend.")
FREM = _plain("frem", _float_remainder, "`n, n -> n`: x - trunc(x / y) * y, of floats.")
AND = _plain("and", np.bitwise_and, "`n, n -> n`: bitwise and.")
OR = _plain("or", np.bitwise_or, "`n, n -> n`: bitwise or.")
XOR = _plain("xor", np.bitwise_xor, "`n, n -> n`: bitwise exclusive or.")


def _shift_amount(x: Any, count: Any) -> tuple[Any, Any]:
    """The count clipped to the width, and which lanes it was at least the width in. PTX shifts
    64-bit integers by the low 32 bits of the count."""
    bits = x.dtype.itemsize * 8
    if bits == 64:
        count = count.astype(np.uint32).astype(count.dtype)
    past = (count < 0) | (count >= bits) if count.dtype.kind == "i" else count >= bits
    return np.where(past, np.zeros_like(count), count), past


def _shift_left(x: Any, count: Any) -> Any:
    safe, past = _shift_amount(x, count)
    return np.where(past, np.zeros_like(x), np.left_shift(x, safe))


def _shift_right_logical(x: Any, count: Any) -> Any:
    unsigned = np.dtype(x.dtype.str.replace("i", "u"))
    safe, past = _shift_amount(x, count)
    moved = np.right_shift(x.astype(unsigned), safe.astype(unsigned)).astype(x.dtype)
    return np.where(past, np.zeros_like(x), moved)


def _shift_right_arithmetic(x: Any, count: Any) -> Any:
    signed = np.dtype(x.dtype.str.replace("u", "i"))
    safe, past = _shift_amount(x, count)
    value = x.astype(signed)
    moved = np.right_shift(value, safe.astype(signed))
    return np.where(past, np.where(value < 0, -1, 0).astype(signed), moved).astype(x.dtype)


SHL = _plain("shl", _shift_left, "`n, n -> n`: shift left; 0 past the width.", wraps=True)
LSHR = _plain("lshr", _shift_right_logical, "`n, n -> n`: logical shift right.")
ASHR = _plain("ashr", _shift_right_arithmetic, "`n, n -> n`: arithmetic shift right.")

LT = define("lt", _E, _boolean, np.less, "`n, n -> n` int1: x < y, false with a NaN.")
LE = define("le", _E, _boolean, np.less_equal, "`n, n -> n` int1: x <= y, false with a NaN.")
GT = define("gt", _E, _boolean, np.greater, "`n, n -> n` int1: x > y, false with a NaN.")
GE = define("ge", _E, _boolean, np.greater_equal, "`n, n -> n` int1: x >= y, false with a NaN.")
EQ = define("eq", _E, _boolean, np.equal, "`n, n -> n` int1: x == y, false with a NaN.")
NE = define("ne", _E, _boolean, np.not_equal, "`n, n -> n` int1: x != y, true with a NaN.")


def _number(x: Any, y: Any, out: Any) -> Any:
    """`out`, but the other operand where one is NaN. NumPy's fmin and fmax are not this: beside a
    signalling NaN they give NaN in blocks too short for the vector unit."""
    if not np.isnan(out).any():
        return out
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, out))[()]


def _float_minimum(x: Any, y: Any) -> Any:
    """IEEE minNum: a number beats a NaN, -0.0 is below +0.0 (PTX min.f32)."""
    out = _number(x, y, np.minimum(x, y))
    if not (out == 0).any():
        return out
    zeros = (x == 0) & (y == 0)
    return np.where(zeros & (np.signbit(x) | np.signbit(y)), -np.zeros_like(out), out)


def _float_maximum(x: Any, y: Any) -> Any:
    """IEEE maxNum: a number beats a NaN, +0.0 is above -0.0 (PTX max.f32)."""
    out = _number(x, y, np.maximum(x, y))
    if not (out == 0).any():
        return out
    zeros = (x == 0) & (y == 0)
    return np.where(zeros & ~(np.signbit(x) & np.signbit(y)), np.zeros_like(out), out)


def _or_nan(x: Any, y: Any, other: Any) -> Any:
    return np.where(np.isnan(x) | np.isnan(y), np.array(np.nan, other.dtype), other)


def _minimum(x: Any, y: Any, propagate_nan: bool = False) -> Any:
    if x.dtype.kind in "biu":
        return np.minimum(x, y)
    return _or_nan(x, y, _float_minimum(x, y)) if propagate_nan else _float_minimum(x, y)


def _maximum(x: Any, y: Any, propagate_nan: bool = False) -> Any:
    if x.dtype.kind in "biu":
        return np.maximum(x, y)
    return _or_nan(x, y, _float_maximum(x, y)) if propagate_nan else _float_maximum(x, y)


MINIMUM = _plain("minimum", _minimum, "`n, n -> n`: the lesser; a NaN only wins if asked to.")
MAXIMUM = _plain("maximum", _maximum, "`n, n -> n`: the greater; a NaN only wins if asked to.")


def _clamp(x: Any, low: Any, high: Any, propagate_nan: bool = False) -> Any:
    return _minimum(_maximum(x, low, propagate_nan), high, propagate_nan)


CLAMP = _plain("clamp", _clamp, "`n, n, n -> n`: x held between two limits.")

SELECT = define(
    "select",
    Family.SELECT,
    lambda condition, x, y: x,
    np.where,
    "`n int1, n, n -> n`: x where the condition holds, else y.",
)


def _umulhi(x: Any, y: Any) -> Any:
    """The upper half of the full product of two unsigned integers of 32 or 64 bits."""
    if x.dtype.itemsize < 8:
        bits = np.uint64(x.dtype.itemsize * 8)
        return ((x.astype(np.uint64) * y.astype(np.uint64)) >> bits).astype(x.dtype)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    xl, xh, yl, yh = x & mask, x >> half, y & mask, y >> half
    middle = xh * yl + ((xl * yl) >> half)
    cross = xl * yh + (middle & mask)
    return xh * yh + (middle >> half) + (cross >> half)


def _mulhi(x: Any, y: Any) -> Any:
    """Signed operands are read as unsigned, as the instruction does (PTX mul.hi.u32)."""
    unsigned = np.dtype(x.dtype.str.replace("i", "u"))
    return _umulhi(x.astype(unsigned), y.astype(unsigned)).astype(x.dtype)


UMULHI = _plain("umulhi", _mulhi, "`n, n -> n`: upper half of the 64- or 128-bit product.")

ADDPTR = define(
    "addptr",
    _E,
    lambda pointer, offset, **_: pointer,
    lambda pointer, offset, itemsize: pointer + offset.astype(np.int64) * itemsize,
    "`n, n -> n`: a pointer moved by elements.",
)
