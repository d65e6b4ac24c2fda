"""Arithmetic with one rounding in a chosen direction: fma, and add, sub, mul, div, rcp, sqrt.

Invariant: every result is the exact real result rounded once to the operands' format, in mode
"rn" (nearest even), "rz" (toward zero), "rd" (down) or "ru" (up), for all inputs including
subnormals, overflow, infinities and the sign of zero.

How: take the nearest value, find on which side of it the exact result lies (error-free
transformations), step to the neighbour where the mode asks for it. Where a transformation could
itself overflow or underflow (only in float64), elements go through exact rational arithmetic.
Sources: Dekker (1971); Boldo and Melquiond, IEEE TC 57 (2008); IEEE 754-2019, section 6.3.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockstep.language.numerics.convert import convert
from blockstep.language.numerics.formats import Array, format_of_storage

Double = NDArray[np.float64]

_SAFE_LOW, _SAFE_HIGH = 2.0**-400, 2.0**400  # squares, and their errors, stay normal in float64


def add(x: Any, y: Any, mode: str = "rn") -> Any:
    """`x + y` for float32 and float64."""
    x, y = _arrays(x, y)
    with np.errstate(all="ignore"):
        nearest = x + y
        if mode == "rn":
            return nearest[()]
        big, small = _by_magnitude(x, y)
        error = np.sign(small - (nearest - big))
        error = np.where(_overflowed(nearest, x, y), -np.sign(nearest), error)
        zero = (nearest == 0) & (np.signbit(x) != np.signbit(y)) & (mode == "rd")
        return np.where(zero, -np.abs(nearest), stepped(nearest, error, mode))[()]


def sub(x: Any, y: Any, mode: str = "rn") -> Any:
    """`x - y` for float32 and float64."""
    return add(x, np.negative(y), mode)


def mul(x: Any, y: Any, mode: str = "rn") -> Any:
    """`x * y` for float32 and float64."""
    x, y = _arrays(x, y)
    with np.errstate(all="ignore"):
        nearest = x * y
        if mode == "rn":
            return nearest[()]
        if x.dtype == np.float32:
            error = np.sign(_wide(x) * _wide(y) - _wide(nearest))
        else:
            error = np.sign(_product_error(x, y, nearest))
            error = _exact_side(nearest, error, lambda a, b: a * b, x, y)
        error = np.where(_overflowed(nearest, x, y), -np.sign(nearest), error)
        return stepped(nearest, error, mode)[()]


def div(x: Any, y: Any, mode: str = "rn") -> Any:
    """`x / y` for float32 and float64."""
    x, y = _arrays(x, y)
    with np.errstate(all="ignore"):
        nearest = x / y
        if mode == "rn":
            return nearest[()]
        if x.dtype == np.float32:
            residual = _wide(x) - _wide(nearest) * _wide(y)
        else:
            product = nearest * y
            residual = (x - product) - _product_error(nearest, y, product)
        error = np.sign(residual) * np.sign(y)
        if x.dtype == np.float64:
            error = _exact_side(nearest, error, lambda a, b: a / b, x, y)
        error = np.where(_overflowed(nearest, x, y) & (y != 0), -np.sign(nearest), error)
        return stepped(nearest, error, mode)[()]


def rcp(x: Any, mode: str = "rn") -> Any:
    """`1 / x` for float32 and float64."""
    return div(np.ones_like(x), x, mode)


def sqrt(x: Any, mode: str = "rn") -> Any:
    """The square root for float32 and float64."""
    (x,) = _arrays(x)
    with np.errstate(all="ignore"):
        nearest = np.sqrt(x)
        if mode == "rn":
            return nearest[()]
        if x.dtype == np.float32:
            error = np.sign(_wide(x) - _wide(nearest) * _wide(nearest))
        else:  # scaled by an even power of two: the root of a float64 is far from the limits
            fraction, exponent = np.frexp(x)
            odd = exponent & 1
            scaled, root = np.ldexp(fraction, odd), np.ldexp(nearest, (odd - exponent) // 2)
            square = root * root
            error = np.sign((scaled - square) - _product_error(root, root, square))
        return stepped(nearest, np.where(np.isfinite(x), error, 0), mode)[()]


def fma(x: Any, y: Any, z: Any, mode: str = "rn") -> Any:
    """`x * y + z` with one rounding, for float16, bfloat16, float32 and float64."""
    x, y, z = _arrays(x, y, z)
    with np.errstate(all="ignore"):
        if x.dtype == np.float64:
            return _fma_double(x, y, z, mode)[()]
        odd = _odd_sum(_wide(x) * _wide(y), _wide(z), mode == "rn")
        nearest = np.asarray(convert(odd, "float64", format_of_storage(x.dtype).name))
        if mode == "rn":
            return nearest[()]
        error = np.sign(odd - _wide(nearest))
        error = np.where(np.isfinite(odd), error, 0)
        return _signed_zero(stepped(nearest, error, mode), x, y, z, odd == 0, mode)[()]


def _arrays(*operands: Any) -> tuple[Array, ...]:
    return tuple(np.broadcast_arrays(*[np.asarray(x) for x in operands]))


def _wide(x: Array) -> Double:
    return x.astype(np.float64)


def _by_magnitude(x: Array, y: Array) -> tuple[Array, Array]:
    swap = np.abs(x) < np.abs(y)
    return np.where(swap, y, x), np.where(swap, x, y)


def _overflowed(nearest: Array, *operands: Array) -> NDArray[np.bool_]:
    infinite = np.isinf(nearest)
    for x in operands:
        infinite = infinite & np.isfinite(x)
    return np.asarray(infinite)


def stepped(nearest: Array, error: Array, mode: str) -> Array:
    """`nearest` or its neighbour; `error` has the sign of (exact - nearest), NaN counts as 0."""
    if mode == "rn":
        return nearest
    one = nearest.dtype.type
    if mode == "rz":
        step, toward = error * np.where(np.signbit(nearest), -1, 1) < 0, np.zeros_like(nearest)
    elif mode == "rd":
        step, toward = error < 0, np.full_like(nearest, one(-np.inf))
    else:
        step, toward = error > 0, np.full_like(nearest, one(np.inf))
    return np.where(step, np.nextafter(nearest, toward), nearest)


def _signed_zero(
    result: Array, x: Array, y: Array, z: Array, zero: NDArray[np.bool_], mode: str
) -> Array:
    """An exact zero sum of terms with unlike signs is -0 when rounding down, else +0."""
    unlike = zero & ((np.signbit(x) ^ np.signbit(y)) != np.signbit(z))
    return np.where(unlike & (mode == "rd"), -np.abs(result), result)


def _split(x: Double) -> tuple[Double, Double]:
    """Two halves of at most 26 bits each (Veltkamp)."""
    scaled = x * 134217729.0
    high = scaled - (scaled - x)
    return high, x - high


def _product_error(x: Array, y: Array, product: Array) -> Double:
    """`x * y - product`, exactly, in float64 away from its limits (Dekker)."""
    (a, b), (c, d) = _split(x), _split(y)
    return np.asarray(((a * c - product) + a * d + b * c) + b * d)


def _sum_error(x: Double, y: Double, total: Double) -> Double:
    big, small = _by_magnitude(x, y)
    return np.asarray(small - (total - big))


def _odd_sum(x: Double, y: Double, narrowed: bool = False) -> Double:
    """`x + y` rounded to odd: exact, or the neighbour whose last bit is set."""
    total = x + y
    bits = np.asarray(total).view(np.int64)
    if narrowed and not (bits & 0xFFFFFFF == 0).any():
        return total  # on no boundary of a format with at most 24 bits: oddness cannot matter
    error = _sum_error(x, y, total)
    even = ((bits & 1) == 0) & (error != 0) & np.isfinite(total)
    outward = (error > 0) == (total > 0)
    return np.asarray(bits + np.where(even, np.where(outward, 1, -1), 0)).view(np.float64)


def _safe(*operands: Array) -> NDArray[np.bool_]:
    """Where the transformations neither overflow nor lose bits."""
    inside = np.ones(operands[0].shape, bool)
    for x in operands:
        size = np.abs(x)
        inside &= (size == 0) | ((size > _SAFE_LOW) & (size < _SAFE_HIGH))
    return inside


def _exact_side(
    nearest: Array, error: Array, exact: Callable[..., Fraction], x: Array, y: Array
) -> Array:
    """`error` with the unsafe elements recomputed in rational arithmetic."""
    unsafe = ~_safe(x, y, nearest) & np.isfinite(nearest) & np.isfinite(x) & np.isfinite(y)
    if not unsafe.any():
        return error
    sides = [
        _side(float(n), exact(Fraction(float(a)), Fraction(float(b))))
        for n, a, b in zip(nearest[unsafe], x[unsafe], y[unsafe], strict=True)
    ]
    out = np.array(error, np.float64)
    out[unsafe] = sides
    return out


def _side(nearest: float, exact: Fraction) -> int:
    held = Fraction(nearest)
    return (exact > held) - (exact < held)


def _fma_double(x: Double, y: Double, z: Double, mode: str) -> Double:
    product = x * y
    factors = np.isfinite(x) & np.isfinite(y)
    finite = factors & np.isfinite(z)
    total = np.where(factors & ~finite, z, product + z)  # an infinite z beats an overflow
    result = np.where(finite, _fma_safe(x, y, z, product), total)
    hard = finite & (~_safe(x, y, z, product) | (mode != "rn"))
    if hard.any():
        result[hard] = [
            _fma_exact(float(a), float(b), float(c), mode)
            for a, b, c in zip(x[hard], y[hard], z[hard], strict=True)
        ]
    return np.asarray(result)


def _fma_safe(x: Double, y: Double, z: Double, product: Double) -> Double:
    """Boldo and Melquiond's algorithm: the two small terms are added with rounding to odd."""
    low = _product_error(x, y, product)
    inner = z + low
    inner_error = _sum_error(z, low, inner)
    outer = product + inner
    outer_error = _sum_error(product, inner, outer)
    result = outer + _odd_sum(inner_error, outer_error)
    return np.where(result == 0, product + z, result)  # the sign of an exact zero


def _fma_exact(x: float, y: float, z: float, mode: str) -> float:
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return float(_zero_sum(x, y, z, mode))
    try:
        nearest = float(exact)
    except OverflowError:
        nearest = np.inf if exact > 0 else -np.inf
    if nearest == 0 and exact < 0:
        nearest = -0.0
    side = _side(nearest, exact) if np.isfinite(nearest) else -int(np.sign(nearest))
    return float(stepped(np.asarray(nearest), np.asarray(side), mode)) if mode != "rn" else nearest


def _zero_sum(x: float, y: float, z: float, mode: str) -> float:
    if x == 0 or y == 0:
        plain = x * y + z
        unlike = z == 0 and np.signbit(x * y) != np.signbit(z)
    else:
        plain, unlike = 0.0, True
    return -0.0 if unlike and mode == "rd" else plain
