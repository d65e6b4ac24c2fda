"""Elementwise mathematics on float32 and float64 (the language rejects narrower floats).

The hardware's approximate instructions (ex2.approx, rsqrt.approx, …) have no exact definition;
the meaning is NumPy's function in the type, within 1-2 ulp of the true value, and each
instruction's documented error belongs to the error bound, not to the meaning.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from blockstep.language import numerics
from blockstep.language.op import Family, Op, define, same

_erf64 = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Any) -> Any:
    return np.asarray(_erf64(np.asarray(x, dtype=np.float64))).astype(x.dtype)


def _rsqrt(x: Any) -> Any:
    return (1.0 / np.sqrt(x.astype(np.float64))).astype(x.dtype)


def _flushed(round_to_integer: Any) -> Any:
    """Subnormal float32 numbers count as zeros of their sign (PTX cvt.rmi.ftz.f32)."""

    def meaning(x: Any) -> Any:
        if x.dtype == np.float32:
            x = np.where(np.abs(x) < np.float32(2.0**-126), np.copysign(np.float32(0), x), x)
        return round_to_integer(x)

    return meaning


def _function(name: str, meaning: Any, what: str) -> Op:
    return define(name, Family.ELEMENTWISE, same, meaning, f"`n -> n`: {what}.")


EXP = _function("exp", np.exp, "e to the x")
EXP2 = _function("exp2", np.exp2, "2 to the x")
# NumPy's own float32 logarithm is up to 4 units off, by the machine's vector unit
LOG = _function("log", numerics.in_double(np.log), "natural logarithm")
LOG2 = _function("log2", np.log2, "base-2 logarithm")
SIN = _function("sin", np.sin, "sine of x in radians")
COS = _function("cos", np.cos, "cosine of x in radians")
SQRT = _function("sqrt", np.sqrt, "square root (approximate on the hardware)")
SQRT_RN = _function("sqrt_rn", np.sqrt, "square root, rounded to nearest even")
RSQRT = _function("rsqrt", _rsqrt, "1 / sqrt(x)")
ERF = _function("erf", _erf, "error function")
FLOOR = _function("floor", _flushed(np.floor), "the greatest integer not above x")
CEIL = _function("ceil", _flushed(np.ceil), "the least integer not below x")
FABS = _function("fabs", np.abs, "absolute value of floats")
IABS = define(
    "iabs",
    Family.ELEMENTWISE,
    same,
    np.abs,
    "`n -> n`: absolute value of signed integers; the lowest value wraps to itself.",
    wraps=True,
)

FMA = define(
    "fma",
    Family.ELEMENTWISE,
    same,
    numerics.fma,
    "`n, n, n -> n`: x * y + z with one rounding.",
)
