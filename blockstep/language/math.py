"""Elementwise mathematics. Most functions take float32 and float64 only, as the hardware does:
cast narrower floats first.
"""

from __future__ import annotations

from typing import Any

from blockstep.language import types as ty
from blockstep.language.casting import bitcast
from blockstep.language.elementwise import and_, div_rn, fdiv, umulhi
from blockstep.language.op import Op, emit
from blockstep.language.ops import math as ops
from blockstep.language.promotion import binary, to_tensor
from blockstep.language.types import dtype

_WIDE = (ty.float32, ty.float64)


def _apply(op: Op, x: Any, allowed: tuple[dtype, ...] = _WIDE) -> Any:
    """Emits `op` on a float block. Raises ValueError for an element type it does not take."""
    x = to_tensor(x)
    if x.type.scalar not in allowed:
        names = [t.name for t in allowed]
        raise ValueError(f"Expected dtype {names} but got {x.type.scalar.name}")
    return emit(op, x)


def exp(x: Any) -> Any:
    """`n -> n`: e to the x."""
    return _apply(ops.EXP, x)


def exp2(x: Any) -> Any:
    """`n -> n`: 2 to the x."""
    return _apply(ops.EXP2, x)


def log(x: Any) -> Any:
    """`n -> n`: the natural logarithm."""
    return _apply(ops.LOG, x)


def log2(x: Any) -> Any:
    """`n -> n`: the base-2 logarithm."""
    return _apply(ops.LOG2, x)


def cos(x: Any) -> Any:
    """`n -> n`: the cosine of x in radians."""
    return _apply(ops.COS, x)


def sin(x: Any) -> Any:
    """`n -> n`: the sine of x in radians."""
    return _apply(ops.SIN, x)


def sqrt(x: Any) -> Any:
    """`n -> n`: the square root, approximate on the hardware; see `sqrt_rn`."""
    return _apply(ops.SQRT, x)


def sqrt_rn(x: Any) -> Any:
    """`n -> n`: the float32 square root, rounded to nearest even."""
    return _apply(ops.SQRT_RN, x, (ty.float32,))


def rsqrt(x: Any) -> Any:
    """`n -> n`: 1 / sqrt(x)."""
    return _apply(ops.RSQRT, x)


def erf(x: Any) -> Any:
    """`n -> n`: the error function."""
    return _apply(ops.ERF, x)


def floor(x: Any) -> Any:
    """`n -> n`: the greatest integer not above x, as a float."""
    return _apply(ops.FLOOR, x)


def ceil(x: Any) -> Any:
    """`n -> n`: the least integer not below x, as a float."""
    return _apply(ops.CEIL, x)


def abs(x: Any) -> Any:
    """`n -> n`: the absolute value, for every number type. The lowest signed integer stays."""
    x = to_tensor(x)
    scalar = x.type.scalar
    if scalar is ty.float8e4b15:  # held as codes: the sign is the top bit
        return bitcast(and_(bitcast(x, ty.int8), 0x7F), scalar)
    if scalar.is_floating():
        return emit(ops.FABS, x)
    if scalar.is_int_signed():
        return emit(ops.IABS, x)
    if scalar.is_int_unsigned():
        return x
    raise TypeError(f"Unexpected dtype {scalar}: abs takes numbers")


def fma(x: Any, y: Any, z: Any) -> Any:
    """`n, n, n -> n`: x * y + z with one rounding. Python numbers keep their literal types.

    Raises TypeError for integers."""
    a, b = binary(to_tensor(x), to_tensor(y))
    c, a = binary(to_tensor(z), a)
    c, b = binary(c, b)
    if not a.type.scalar.is_floating():
        raise TypeError(f"Unexpected dtype {a.type.scalar}: fma takes floats")
    return emit(ops.FMA, a, b, c)


__all__ = [
    "abs",
    "ceil",
    "cos",
    "div_rn",
    "erf",
    "exp",
    "exp2",
    "fdiv",
    "floor",
    "fma",
    "log",
    "log2",
    "rsqrt",
    "sin",
    "sqrt",
    "sqrt_rn",
    "umulhi",
]
