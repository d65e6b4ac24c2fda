"""f64 results that need more than f64: rational arithmetic, one element at a time.

It is slow and rarely called: for directed roundings of f64, and for fused operations whose parts
leave the range in which they can be taken apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockstep.interp.ptx.isa.rounding import to_odd, two_sum

Array = NDArray[Any]

LARGEST = Fraction(float(np.finfo(np.float64).max))


def _quantum(x: Fraction) -> int:
    """The exponent of the distance between the f64 numbers around x ≠ 0."""
    exponent = abs(x.numerator).bit_length() - x.denominator.bit_length()
    if abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    return max(exponent, -1022) - 52


def _whole(x: Fraction, direction: str) -> int:
    if direction == "rn":
        return round(x)
    if direction == "rz":
        return math.trunc(x)
    return math.floor(x) if direction == "rm" else math.ceil(x)


def to_f64(x: Fraction, direction: str) -> float:
    """A rational ≠ 0, rounded in a direction; its sign where it rounds to zero."""
    quantum, sign = _quantum(x), 1.0 if x > 0 else -1.0
    near = Fraction(2) ** quantum * _whole(x / Fraction(2) ** quantum, direction)
    if abs(near) > LARGEST:
        stays = direction == "rz" or direction == ("rm" if x > 0 else "rp")
        return sign * (float(LARGEST) if stays else math.inf)
    return math.copysign(float(near), sign)


def _root(x: Fraction, direction: str) -> float:
    """The square root of x > 0: from the whole root of x · 4^k, made odd where it is not exact."""
    shift = 2 * (64 + abs(_quantum(x)))
    scaled = x * Fraction(4) ** shift
    root = math.isqrt(math.floor(scaled))
    inexact = root * root != scaled
    return to_f64(Fraction(2 * root + inexact, 2) / Fraction(2) ** shift, direction)


def _sum(terms: tuple[float, float], exact: Fraction, direction: str) -> float:
    """The exact sum of two terms, with the sign of a zero that IEEE 754 wants."""
    if exact:
        return to_f64(exact, direction)
    signs = {math.copysign(1.0, t) for t in terms}
    if len(signs) == 1 and not any(terms):
        return terms[0]
    return -0.0 if direction == "rm" else 0.0


def _fma(a: float, b: float, c: float, direction: str) -> float:
    product = Fraction(a) * Fraction(b)
    sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    term = 0.0 if not product else 1.0  # a product that is not zero need not fit into f64
    return _sum((math.copysign(term, sign), c), product + Fraction(c), direction)


def _divided(a: float, b: float, direction: str) -> float:
    return to_f64(Fraction(a) / Fraction(b), direction)


_SCALAR: dict[str, Callable[..., float]] = {
    "add": lambda a, b, d: _sum((a, b), Fraction(a) + Fraction(b), d),
    "sub": lambda a, b, d: _sum((a, -b), Fraction(a) - Fraction(b), d),
    "mul": lambda a, b, d: to_f64(Fraction(a) * Fraction(b), d),
    "div": _divided,
    "fma": _fma,
    "sqrt": lambda a, d: _root(Fraction(a), d),
}


def computed(operation: str, plain: Array, direction: str, *operands: Array) -> Array:
    """The operation on f64 arrays, rounded once in the direction.

    `plain` is what f64 gives, rounded to nearest: it stands where an operand is inf or NaN, and
    where a product or quotient is zero or infinite because an operand is."""
    scalar = _SCALAR[operation]
    arrays = np.broadcast_arrays(*operands)
    ordinary = np.all([np.isfinite(x) for x in arrays], axis=0)
    if operation in ("mul", "div"):
        ordinary &= (arrays[0] != 0) & (arrays[1] != 0)
    if operation == "sqrt":
        ordinary &= arrays[0] > 0
    result = np.array(np.broadcast_to(plain, arrays[0].shape), np.float64)
    columns = [x[ordinary].tolist() for x in arrays]
    result[ordinary] = [scalar(*values, direction) for values in zip(*columns, strict=True)]
    return result


def fma_f64(a: Array, b: Array, c: Array) -> Any:
    """fma.rn.f64: the product as two numbers (Dekker), summed without loss, and the tail rounded
    to odd before it is added (Boldo and Melquiond); in exact arithmetic where a part could leave the range."""
    high, low = _product(a, b)
    t, tail = two_sum(np.asarray(c), low)
    s, rest = two_sum(high, t)
    result = s + to_odd(*two_sum(tail, rest))
    doubtful = ~(_ordinary(a, 300) & _ordinary(b, 300) & _ordinary(c, 600))
    doubtful |= (s == 0) | (np.abs(result) < 2.0**-900)
    if doubtful.any():
        a, b, c = (np.broadcast_to(x, result.shape)[doubtful] for x in (a, b, c))
        result[doubtful] = computed("fma", plain_fma(a, b, c), "rn", a, b, c)
    return result


def plain_fma(a: Array, b: Array, c: Array) -> Array:
    """a · b + c rounded twice; an infinite c stands even where the product overflows."""
    stands = np.isinf(c) & np.isfinite(a) & np.isfinite(b)
    return np.where(stands, c, a * b + c)


def _ordinary(x: Array, reach: int) -> Array:
    """Whether 2^-reach < |x| < 2^reach: far from overflow and underflow."""
    size = np.abs(x)
    return (size > 2.0**-reach) & (size < 2.0**reach)


def _split(x: Array) -> tuple[Array, Array]:
    scaled = x * 134217729.0  # 2^27 + 1
    high = scaled - (scaled - x)
    return high, x - high


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    p = a * b
    (ah, al), (bh, bl) = _split(a), _split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl
