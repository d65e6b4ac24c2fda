"""Error, gamma and normal-distribution functions in float64.

Invariant: relative error of about 1e-15 (inverses and tails: 1e-13 at worst), so that rounding to
float32 gives the nearest or its neighbour; lgamma near its zeros has that error absolutely. Arguments are float64 arrays; callers round.

Method: the C library's erf, erfc and lgamma, element by element; a Taylor step from a table for
float32 erf; inverses by Newton's iteration on whichever of erf or log erfc is well conditioned.
Source: NIST Digital Library of Mathematical Functions, chapters 5 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Double = NDArray[np.float64]

_ROOT_PI = math.sqrt(math.pi)
_INVERSE_ROOT_2 = (0.7071067811865476, -4.833646656726457e-17)  # 1/sqrt(2), high and low part


def elementwise(function: Callable[..., float], *operands: Any) -> Double:
    """A scalar function at every element."""
    called = np.frompyfunc(function, len(operands), 1)(*operands)
    return np.asarray(called, dtype=np.float64)


def erf(x: Double) -> Double:
    return elementwise(math.erf, x)


def erfc(x: Double) -> Double:
    return elementwise(math.erfc, x)


_STEP = 1 / 64  # distance of the table's points


@cache
def _erf_table() -> tuple[Double, Double]:
    points: Double = np.arange(0, 257, dtype=np.float64) * _STEP  # erf(4) is 1 in float32
    return erf(points), 2 / _ROOT_PI * np.exp(-points * points)


def erf_short(x: Double) -> Double:
    """erf for rounding to float32: about 1e-12 relative, and 1 from 4 on; vectorised."""
    size = np.minimum(np.abs(np.nan_to_num(x)), 4.0)
    index = np.rint(size / _STEP).astype(np.intp)
    values, slopes = _erf_table()
    point = index * _STEP
    h = size - point
    square = point * point
    series = 1 + h * (
        -point
        + h
        * (
            (2 * square - 1) / 3
            + h
            * (point * (3 - 2 * square) / 6 + h * ((4 * square * square - 12 * square + 3) / 30))
        )
    )
    return np.where(np.isnan(x), x, np.copysign(values[index] + slopes[index] * h * series, x))


def erfcx(x: Double) -> Double:
    """`exp(x*x) * erfc(x)`, without cancellation or overflow for positive x."""
    size = np.abs(x)
    middle = np.minimum(size, 12.0)
    tail = _erfcx_tail(np.maximum(size, 12.0))
    positive = np.where(size < 12, _exp_of_square(middle) * erfc(middle), tail)
    negative = 2 * _exp_of_square(np.minimum(size, 30.0)) - positive
    return np.where(x >= 0, positive, np.where(np.isnan(x), x, negative))


def _exp_of_square(x: Double) -> Double:
    """exp(x * x) with the low bits of the square, for x >= 0."""
    high = np.asarray(x).view(np.int64) & -(1 << 27)
    head = np.asarray(high).view(np.float64)  # head * head is exact
    return np.asarray(np.exp(head * head) * np.exp((x - head) * (x + head)))


def _erfcx_tail(x: Double) -> Double:
    """The asymptotic series (DLMF 7.12.1), for x >= 12."""
    inverse = 0.5 / (x * x)
    series = np.ones_like(x)
    for n in range(25, 0, -1):
        series = 1 - (2 * n - 1) * inverse * series
    return np.asarray(series / _ROOT_PI / x)  # in this order: x * sqrt(pi) may overflow


def erfinv(y: Double) -> Double:
    size = np.abs(y)
    middle = _erfinv_middle(np.where(size <= 0.5, y, 0))
    tail = np.copysign(_erfcinv_tail(np.where(size > 0.5, 1 - size, 0.25)), y)
    return _within(np.where(size <= 0.5, middle, tail), size <= 1)


def erfcinv(c: Double) -> Double:
    near = (c >= 0.5) & (c <= 1.5)
    middle = _erfinv_middle(np.where(near, 1 - c, 0))
    small = np.where(c < 0.5, c, np.where(c > 1.5, 2 - c, 0.25))
    tail = np.copysign(_erfcinv_tail(small), 1 - c)
    return _within(np.where(near, middle, tail), (c >= 0) & (c <= 2))


def _within(values: Double, domain: NDArray[np.bool_]) -> Double:
    return np.where(domain, values, np.nan)


def _erfinv_middle(y: Double) -> Double:
    """Newton's iteration on erf for |y| <= 1/2."""
    x = y * (_ROOT_PI / 2) * (1 + y * y * (math.pi / 12))
    for _ in range(5):
        x = x - (erf(x) - y) * (_ROOT_PI / 2) * np.exp(x * x)
    return np.where(y == 0, y, x)


def _erfcinv_tail(c: Double) -> Double:
    """Newton's iteration on log erfc for c <= 1/2; infinite at 0."""
    safe = np.where(c > 0, c, 0.25)
    target = np.log(safe)
    x = np.sqrt(np.maximum(-target - 0.5 * np.log(math.pi * np.maximum(-target, 0.5)), 0.05))
    for _ in range(6):
        scaled = erfcx(x)
        x = x + (np.log(scaled) - x * x - target) * (_ROOT_PI / 2) * scaled
    return np.where(c > 0, x, np.where(c == 0, np.inf, np.nan))


def normcdf(x: Double) -> Double:
    """The standard normal distribution function, `erfc(-x / sqrt 2) / 2`."""
    high = np.asarray(x).view(np.int64) & -(1 << 27)
    head = np.asarray(high).view(np.float64)
    factor = 0.7071067690849304  # 24 bits: its product with `head` (26 bits) is exact
    rest = _INVERSE_ROOT_2[0] - factor + _INVERSE_ROOT_2[1]
    exact, small = -head * factor, -(head * rest + (x - head) * _INVERSE_ROOT_2[0])
    point = exact + small
    missed = small - (point - exact)
    clipped = np.clip(point, -28.0, 28.0)
    correction = np.where(np.abs(point) < 28, 2 * missed / (_ROOT_PI * erfcx(clipped)), 0)
    return np.where(np.isinf(x), np.where(x > 0, 1.0, 0.0), 0.5 * erfc(point) * (1 - correction))


def normcdfinv(p: Double) -> Double:
    """The inverse of `normcdf`."""
    return -math.sqrt(2) * erfcinv(2 * p)


def lgamma(x: Double) -> Double:
    return elementwise(_lgamma, x)


def _lgamma(x: float) -> float:
    if x <= 0 and x % 1 == 0:
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def tgamma(x: Double) -> Double:
    return elementwise(_tgamma, x)


def _tgamma(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    if x < 0 and (x % 1 == 0 or math.isinf(x)):
        return math.nan
    try:
        return math.gamma(x)
    except OverflowError:
        return math.copysign(math.inf, x) if abs(x) < 1 else math.inf  # 1/x near the pole at 0
