"""Rounding to binary floating-point formats, once and in every direction.

Arithmetic on formats up to f32 is done in f64, *rounded to odd*: where the f64 result is not
exact, its last bit is made 1, so that it never lies on a number of the narrower format nor halfway
between two, and a second rounding in any direction gives what one rounding of the exact result
would (Boldo and Melquiond; f64 has 53 bits, and 26 would do for f32).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockstep.interp.ptx.isa.trace import fused, tracing

Array = NDArray[Any]
F64 = NDArray[np.float64]

DIRECTIONS = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: `mantissa` bits after the point, the exponent of its smallest normal
    number, its largest finite number, and the bits of its NaN (None: it has none)."""

    name: str
    width: int
    mantissa: int
    least: int
    largest: float
    nan: int | None
    infinite: bool = True

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.width - 1)

    @property
    def bias(self) -> int:
        """What is added to an exponent in the bits."""
        return 1 - self.least

    @property
    def top(self) -> int:
        """The bits of the largest finite number."""
        exponent = int(np.frexp(self.largest)[1]) - 1
        fraction = self.largest / 2.0**exponent - 1
        return ((exponent + self.bias) << self.mantissa) + int(fraction * 2**self.mantissa)


F32_MAX = (2 - 2.0**-23) * 2.0**127
FORMATS = {
    f.name: f
    for f in (
        Format("f16", 16, 10, -14, 65504.0, 0x7FFF),
        Format("bf16", 16, 7, -126, (2 - 2.0**-7) * 2.0**127, 0x7FFF),
        Format("tf32", 32, 10, -126, (2 - 2.0**-10) * 2.0**127, 0x7FFFFFFF),
        Format("f32", 32, 23, -126, F32_MAX, 0x7FFFFFFF),
        Format("f64", 64, 52, -1022, float(np.finfo(np.float64).max), 0x7FFFFFFFFFFFFFFF),
        Format("e4m3", 8, 3, -6, 448.0, 0x7F, infinite=False),
        Format("e5m2", 8, 2, -14, 57344.0, 0x7F),
        Format("e3m2", 6, 2, -2, 28.0, None, infinite=False),
        Format("e2m3", 6, 3, 0, 7.5, None, infinite=False),
        Format("e2m1", 4, 1, 0, 6.0, None, infinite=False),
    )
}

# To a whole number, in each direction; `rna` takes halves away from zero.
WHOLE: dict[str, Callable[[Array], Array]] = {
    "rn": np.rint,
    "rz": np.trunc,
    "rm": np.floor,
    "rp": np.ceil,
    "rna": lambda x: (
        np.trunc(x) + np.where(np.abs(x - np.trunc(x)) >= 0.5, np.copysign(1.0, x), 0.0)
    ),
}


def rounded(x: F64, to: Format, direction: str) -> F64:
    """The number of the format that `x` rounds to, as f64; too large ones give ±inf, or the largest
    finite number where the direction stops there. NaN stays.

    x = m · q, where q = 2^max(exponent(x), least) / 2^mantissa is the distance of neighbours."""
    _, exponent = np.frexp(x)
    quantum = np.maximum(exponent - 1, to.least) - to.mantissa
    near = np.ldexp(WHOLE[direction](np.ldexp(x, -quantum)), quantum)
    over = np.abs(near) > to.largest
    if not over.any():
        return np.asarray(near)
    return np.where(over & np.isfinite(x), overflow(x, to.largest, direction), near)


def overflow(x: F64, largest: float, direction: str) -> F64:
    """What a finite number past the largest rounds to."""
    if direction in ("rn", "rna"):
        return np.copysign(np.inf, x)
    if direction == "rz":
        return np.copysign(largest, x)
    positive = np.inf if direction == "rp" else largest
    negative = -largest if direction == "rp" else -np.inf
    return np.where(x > 0, positive, negative)


def to_odd(s: Array, error: Array) -> Any:
    """`s + error` rounded to odd, where s is the sum rounded to nearest and error what it lacks; in
    f64, or in f32."""
    kind = np.dtype(f"int{8 * s.dtype.itemsize}")
    bits = s.view(kind)
    # One step towards the exact sum: in the bits that is +1 away from zero and -1 towards it.
    step = ((error > 0) == (s > 0)).view(np.int8) * np.int8(2) - np.int8(1)
    step *= (error != 0) & ((bits & 1) == 0) & np.isfinite(s)
    return (bits + step).view(s.dtype)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and the exact error of that (Knuth)."""
    s = a + b
    other = s - a
    return s, (a - (s - other)) + (b - other)


def added(a: Array, b: Array) -> Any:
    """a + b of one type, rounded to odd."""
    s, error = two_sum(a, b)
    return to_odd(s, error)


def to_f32(s: F64, direction: str) -> NDArray[np.float32]:
    """A result rounded to odd (or exact) as f32, in a direction."""
    near = s.astype(np.float32)
    if direction == "rn":
        return near
    wide = near.astype(np.float64)
    return stepped(near, wide > s, wide < s, np.signbit(s), direction)


def stepped(near: Array, too_high: Array, too_low: Array, negative: Array, direction: str) -> Array:
    """A result rounded to nearest, one step back where the direction does not allow that side.

    `too_high`, `too_low`: on which side of the exact result it lies; `negative`: that one's sign."""
    if direction == "rz":
        too_high, too_low = too_high & ~negative, too_low & negative
    limit = np.asarray(np.inf, near.dtype)
    if direction != "rp":
        near = np.where(too_high, np.nextafter(near, -limit), near)
    if direction != "rm":
        near = np.where(too_low, np.nextafter(near, limit), near)
    return near


def zero_down(s: Array, positive: Array) -> Array:
    """Towards -inf an exact sum of 0 is -0, unless both terms are +0 (`positive`)."""
    return np.where((s == 0) & ~positive, np.asarray(-0.0, s.dtype), s)


# What of an f64 lies behind the last place of an f32, and half of that place.
_BEHIND, _HALFWAY = np.uint64(0x1FFFFFFF), np.uint64(0x10000000)
_SMALLEST = np.float32(2.0**-126)


def fma_f32(a: Array, b: Array, c: Array) -> Any:
    """fma.rn.f32: a · b is exact in f64, the sum is rounded there and then again to f32.

    Twice rounded is once rounded, unless the f64 sum lies just halfway between two numbers of f32,
    or is below its normal numbers, where halfway is elsewhere: these are rounded to odd."""
    if tracing(a, b, c):
        return fused(a, b, c)
    product = a.astype(np.float64) * b
    s = product + c
    result: NDArray[np.float32] = s.astype(np.float32)
    bits = s.view(np.uint64)
    # The last 29 bits say "halfway"; `result` is small where it is below the smallest normal.
    doubtful = (bits & _BEHIND) == _HALFWAY
    small = np.abs(result) <= _SMALLEST
    if small.any():
        doubtful |= small & (s != 0)
    if doubtful.any():
        at = np.nonzero(doubtful)
        terms = (np.broadcast_to(x, s.shape)[at] for x in (product, c.astype(np.float64)))
        result[at] = added(*terms).astype(np.float32)
    return result
