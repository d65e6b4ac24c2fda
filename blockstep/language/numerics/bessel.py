"""Bessel functions of integer order in float64: J, Y, and the modified I0 and I1.

Invariant: error of a few 1e-16 of the function's envelope (relative error grows near its zeros).
Method: below 25, backward recurrence with the sum rule for J (Miller) and Neumann's series for Y;
from 25 on, Hankel's expansion; other orders by recurrence in the stable direction.
Source: NIST Digital Library of Mathematical Functions, 10.8, 10.12, 10.17, 10.25, 10.40, 10.74.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from blockstep.language.numerics.special import elementwise

Double = NDArray[np.float64]

_FAR = 25.0
_EULER = 0.5772156649015329


def j0(x: Double) -> Double:
    size = np.abs(x)
    near = _near(np.minimum(size, _FAR))[0]
    return np.where(size < _FAR, near, _hankel(0, size)[0])


def j1(x: Double) -> Double:
    size = np.abs(x)
    near = _near(np.minimum(size, _FAR))[1]
    return np.copysign(1.0, x) * np.where(size < _FAR, near, _hankel(1, size)[0])


def y0(x: Double) -> Double:
    near = _near(_positive(x))[2]
    return _second_kind(x, np.where(x < _FAR, near, _hankel(0, x)[1]))


def y1(x: Double) -> Double:
    near = np.where(x < 1e-8, -2 / (math.pi * x), _near(_positive(x))[3])
    return _second_kind(x, np.where(x < _FAR, near, _hankel(1, x)[1]))


def _positive(x: Double) -> Double:
    return np.where(x > 0, np.minimum(x, _FAR), 1.0)


def _second_kind(x: Double, values: Double) -> Double:
    return np.where(x > 0, values, np.where(x == 0, -np.inf, np.nan))


def _near(x: Double) -> tuple[Double, Double, Double, Double]:
    """J0, J1, Y0, Y1 for 0 <= x <= 25 from one backward sweep over the orders."""
    small = x < 1e-4
    point = np.where(small, 1.0, x)
    upper, here = np.zeros_like(point), np.full_like(point, 1e-280)
    total, even, odd = (np.zeros_like(point) for _ in range(3))
    for n in range(90, 0, -1):  # `here` is a multiple of J of order n
        k = n // 2
        weight = -here if k % 2 else here
        if n % 2 == 0:
            total = total + 2 * here
            even = even + weight / k
        elif k:
            odd = odd + weight * (2 * k + 1) / (k * (k + 1))
        upper, here = here, 2 * n / point * here - upper
        large = np.abs(here) > 1e200
        if large.any():
            shrink = np.where(large, 1e-200, 1.0)
            upper, here, total, even, odd = (v * shrink for v in (upper, here, total, even, odd))
    total = total + here
    first, second = here / total, upper / total
    first = np.where(small, 1 - x * x / 4, first)
    second = np.where(small, x / 2 * (1 - x * x / 8), second)
    log = np.log(np.where(x > 0, x, 1.0)) - math.log(2)  # x / 2 may be 0
    evens = np.where(small, -x * x / 8, even / total)
    odds = np.where(small, 0.0, odd / total)
    third = 2 / math.pi * ((log + _EULER) * first - 2 * evens)
    inverse = np.where(x > 0, 2 / (math.pi * np.where(x > 0, x, 1.0)), np.inf)
    fourth = -inverse * first + 2 / math.pi * ((log + _EULER - 1) * second - odds)
    return first, second, third, fourth


def _hankel(order: int, x: Double) -> tuple[Double, Double]:
    """J and Y of order 0 or 1 for x >= 25."""
    far = np.where(np.isfinite(x) & (x >= _FAR), x, _FAR)
    mu, term = 4.0 * order * order, np.ones_like(far)
    p, q = np.ones_like(far), np.zeros_like(far)
    for k in range(1, 30):
        term = term * (mu - (2 * k - 1) ** 2) / (8 * k * far)
        sign = -1.0 if k % 4 in (2, 3) else 1.0
        if k % 2:
            q = q + sign * term
        else:
            p = p + sign * term
    sine, cosine = np.sin(far), np.cos(far)
    if order == 0:  # phase x - pi/4
        c, s = cosine + sine, sine - cosine
    else:  # phase x - 3 pi/4
        c, s = sine - cosine, -sine - cosine
    scale = 1 / math.sqrt(math.pi) / np.sqrt(far)  # pi x may be infinite
    first, second = scale * (p * c - q * s), scale * (p * s + q * c)
    infinite = np.isinf(x)
    lost = np.isnan(x)
    first = np.where(lost, np.nan, np.where(infinite, 0.0, first))
    return first, np.where(lost, np.nan, np.where(infinite, 0.0, second))


def jn(n: NDArray[np.int32], x: Double) -> Double:
    """The first kind of order n >= 0; NaN for negative orders."""
    return elementwise(_jn, n, x)


def _jn(n: int, x: float) -> float:
    if n < 0 or math.isnan(x):
        return math.nan
    size = abs(x)
    sign = -1.0 if x < 0 and n % 2 else 1.0
    if math.isinf(x) or (x == 0 and n):
        return 0.0
    if n < 2:
        return float((j1 if n else j0)(np.asarray(x)))
    if n > 2000 and n > 2 * size:  # below (e x / 2n)**n, which underflows
        return 0.0
    return sign * (_upward(n, size) if n < size else _downward(n, size))


def _upward(n: int, x: float) -> float:
    before, here = float(j0(np.asarray(x))), float(j1(np.asarray(x)))
    for k in range(1, n):
        before, here = here, 2 * k / x * here - before
    return here


def _downward(n: int, x: float) -> float:
    """Miller's algorithm, normalised by J0 + 2 (J2 + J4 + ...) = 1."""
    start = 2 * ((n + int(math.sqrt(60.0 * n)) + 40) // 2)
    above, here, total, wanted = 0.0, 1e-300, 0.0, 0.0
    for k in range(start, 0, -1):
        if k % 2 == 0:
            total += 2 * here
        if k == n:
            wanted = here
        above, here = here, 2 * k / x * here - above
        if abs(here) > 1e200:
            above, here, total, wanted = (v * 1e-200 for v in (above, here, total, wanted))
        if math.isinf(here):
            return 0.0
    return wanted / (total + here)


def yn(n: NDArray[np.int32], x: Double) -> Double:
    """The second kind of order n >= 0, by upward recurrence; NaN for negative orders."""
    n, x = (np.asarray(v) for v in np.broadcast_arrays(n, x))
    before, here = y0(x), y1(x)
    result = np.where(n == 0, before, here)
    for k in range(1, int(n.max(initial=0))):
        with np.errstate(all="ignore"):
            after = 2 * k / x * here - before
        done = (n <= k) | np.isneginf(here) | np.isnan(here) | np.isinf(x)
        if done.all():
            break
        after = np.where(done, here, after)
        before, here = here, after
        result = np.where(n > k, here, result)
    return np.where(n < 0, np.nan, result)


def i0(x: Double) -> Double:
    return _modified(0, np.abs(x))


def i1(x: Double) -> Double:
    return np.copysign(_modified(1, np.abs(x)), x)


def _square(x: Double) -> tuple[Double, Double]:
    """x * x / 4, and what it lacks, relatively."""
    head = np.asarray(np.asarray(x).view(np.int64) & -(1 << 27)).view(np.float64)
    tail, square = x - head, x * x
    low = (head * head - square) + 2 * head * tail + tail * tail
    return square / 4, np.where(square > 0, low / np.where(square > 0, square, 1), 0)


def _modified(order: int, x: Double) -> Double:
    near, far = np.minimum(x, 30.0), np.maximum(x, 30.0)
    square, low = _square(near)
    term = np.ones_like(near) if order == 0 else near / 2
    series, weighted = np.zeros_like(near), np.zeros_like(near)
    for k in range(1, 75):
        series, weighted = series + term, weighted + (k - 1) * term
        term = term * square / (k * (k + order))
    series = series + weighted * low  # to first order in what `square` lacks
    tail, part, mu = np.zeros_like(far), np.ones_like(far), 4.0 * order * order
    for k in range(1, 30):
        tail = tail + part
        part = -part * (mu - (2 * k - 1) ** 2) / (8 * k * far)
    half = np.exp(far / 2)  # in two factors: the function is finite a little past exp
    grown = half * (half / np.sqrt(2 * math.pi * far) * tail)
    grown = np.where(x > 720, np.inf, grown)
    return np.where(np.isnan(x), x, np.where(x < 30, series, grown))
