"""Elementary real functions that NumPy lacks, and those it has lifted to the operand's type.

Invariant: a float32 result is the float64 result rounded once, so it is the nearest float32 but
for rare ties and does not depend on the vector unit of the machine that computes it. Special
values (infinities, NaN, signed zeros) are those of C99 annex F, which libdevice follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.language.numerics.formats import Array

Function = Callable[..., Any]


def in_double(function: Function, single: Function | None = None) -> Function:
    """`function` computed in float64 and rounded to the type of the last operand.

    `single` is a cheaper function (of float64 values) that is good enough for float32."""

    def lifted(*operands: Any) -> Any:
        result = np.asarray(operands[-1]).dtype
        chosen = single if single is not None and result == np.float32 else function
        with np.errstate(all="ignore"):
            wide = [np.asarray(x) for x in operands]
            wide = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in wide]
            return np.asarray(chosen(*wide)).astype(result)[()]

    return lifted


def sinpi(x: Array) -> Array:
    """sin(pi x), exact at multiples of 1/2."""
    part = np.fmod(np.abs(x), 2.0)
    folded = np.where(part > 1, part - 2, part)  # in (-1, 1]
    inner = np.where(np.abs(folded) > 0.5, np.copysign(1, folded) - folded, folded)
    return np.where(np.isfinite(x), np.copysign(1, x) * np.sin(np.pi * inner), np.nan)


def cospi(x: Array) -> Array:
    """cos(pi x), exact at multiples of 1/2."""
    part = np.fmod(np.abs(x), 2.0)
    folded = np.where(part > 1, 2 - part, part)  # in [0, 1]
    return np.where(np.isfinite(x), np.sin(np.pi * (0.5 - folded)), np.nan)


def exp10(x: Array) -> Array:
    return np.asarray(np.power(10.0, x))


def rsqrt(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x))


def rcbrt(x: Array) -> Array:
    return np.asarray(1 / np.cbrt(x))


def norm(*parts: Array) -> Array:
    """The Euclidean length; infinite when a part is, even beside NaN."""
    length, exponent, infinite = _length(parts)
    return np.where(infinite, np.inf, np.ldexp(length, exponent))


def _length(parts: tuple[Array, ...]) -> tuple[Array, Array, Array]:
    """A length near 1, the power of two that is missing, and whether a part is infinite."""
    sizes = np.broadcast_arrays(*[np.abs(x) for x in parts])
    exponent = np.frexp(np.fmax.reduce(sizes))[1]
    scaled = [np.ldexp(x, -exponent) for x in sizes]
    total = sum((x * x for x in scaled[1:]), scaled[0] * scaled[0])
    infinite = np.logical_or.reduce([np.isinf(x) for x in sizes])
    return np.sqrt(total), exponent, infinite


def rnorm(*parts: Array) -> Array:
    """1 / length, also where the length is past the greatest number."""
    length, exponent, infinite = _length(parts)
    return np.where(infinite, 0.0, np.ldexp(1 / length, -exponent))


def whole_power(x: Array, n: Array) -> Array:
    """x to a whole power by repeated squaring, each product rounded (and flushed, in float32), then
    inverted for n < 0: bit for bit what libdevice's powif and powi give."""
    left, power, square = np.abs(n.astype(np.int64)), np.ones_like(x), x
    with np.errstate(all="ignore"):
        while left.any():
            power = np.where(left & 1, _normal_single(power * square), power)
            square, left = _normal_single(square * square), left >> 1
        return np.asarray(np.where(n < 0, x.dtype.type(1) / power, power))


def _normal_single(x: Array) -> Array:
    if x.dtype != np.float32:
        return x
    return np.where(np.abs(x) < np.float32(2.0**-126), np.copysign(np.float32(0), x), x)


def remainder(x: Any, y: Any) -> Any:
    """`x - n y` for the integer n nearest to x/y (even in a tie): exact, sign of x when zero."""
    a, b = np.abs(x), np.abs(y)
    with np.errstate(all="ignore"):
        double = b + b
        rest = np.where(np.isinf(double) & np.isfinite(a), a, np.fmod(a, double))  # n is 0, 1 or 2
        once = rest - b
        twice = once - b
        value = np.where(once >= b - once, twice, once)
        value = np.where((rest > b - rest) & np.isfinite(b), value, rest)
        return np.where(np.signbit(x), -value, value).astype(np.asarray(x).dtype)[()]


def fdim(x: Any, y: Any) -> Any:
    """The positive difference: `x - y` above zero, else 0."""
    with np.errstate(all="ignore"):
        return np.where(x <= y, np.asarray(x).dtype.type(0), np.subtract(x, y))[()]


def round_away(x: Any) -> Any:
    """To the nearest integer, ties away from zero."""
    with np.errstate(all="ignore"):
        whole = np.trunc(x)
        far = np.abs(np.subtract(x, whole)) >= 0.5
        rounded = np.copysign(np.where(far, np.abs(whole) + 1, whole), x)
        return rounded.astype(np.asarray(x).dtype)[()]


def ilogb(x: Any) -> Any:
    """The exponent of `x`: the least int32 for 0 and NaN, the greatest for infinities."""
    limits = np.iinfo(np.int32)
    exponent = np.frexp(x)[1] - 1
    exponent = np.where(np.isinf(x), limits.max, exponent)
    lost = (np.equal(x, 0)) | np.isnan(x)
    return np.where(lost, limits.min, exponent).astype(np.int32)[()]


def logb(x: Any) -> Any:
    """The exponent of `x` as a float: -inf for 0, +inf for infinities."""
    exponent = (np.frexp(x)[1] - 1).astype(np.asarray(x).dtype)
    special = np.where(np.isnan(x), x, np.where(np.isinf(x), np.inf, -np.inf))
    usual = np.isfinite(x) & np.not_equal(x, 0)
    return np.where(usual, exponent, special).astype(np.asarray(x).dtype)[()]


def saturate(x: Any) -> Any:
    """`x` held within [0, 1]; NaN becomes 0."""
    array = np.asarray(x)
    return np.where(np.isnan(array), array.dtype.type(0), np.clip(array, 0, 1))[()]


def high_word_reciprocal(x: Any) -> Any:
    """1/x of a float64 with the low 32 bits clear, as the starting value of a division is.
    Subnormal numbers count and come out as zeros; the hardware's last place may be 2 greater."""
    with np.errstate(all="ignore"):
        bits = np.asarray(np.divide(1.0, _without_subnormals(x))).view(np.int64)
    return _without_subnormals((bits & np.int64(-(1 << 32))).view(np.float64))[()]


def _without_subnormals(x: Any) -> Array:
    tiny = np.abs(x) < np.finfo(np.float64).tiny
    return np.asarray(np.where(tiny, np.copysign(0.0, x), x))


def fast_divide(x: Any, y: Any) -> Any:
    """`x / y` of float32 by a flushed reciprocal: 0 for finite x when |y| exceeds 2**126."""
    size = np.abs(y)
    beyond = (size > np.float32(2.0**126)) & np.isfinite(y)
    with np.errstate(all="ignore"):
        zero = np.multiply(x, np.copysign(np.float32(0), y))
        return np.where(beyond, zero, np.divide(x, y)).astype(np.float32)[()]


def fast_power(x: Any, y: Any) -> Any:
    """`exp2(y * log2(x))` of float32: NaN for negative x."""
    with np.errstate(all="ignore"):
        wide = np.asarray(x).astype(np.float64)
        return np.exp2(np.multiply(y, np.log2(wide))).astype(np.float32)[()]
