"""A value with the range in which every legal compiled execution finds it.

`Ranged.value` is what the step machine computes, bit for bit. For floats `low` and `high` (float64)
enclose what any legal execution computes in its place, the step machine's value included; None says
that all of them compute exactly `value`. `flags` marks elements that a legal execution may find
anywhere in that range because it may *decide* otherwise (UNDECIDED) or because instances may come in
another order (ORDERED). Integers have flags only.

Invariants: low <= value <= high, or all three are NaN (surely NaN). Where low and high are one number
with one sign of zero, every execution has these bits. `product` is what a product is before it is
rounded: a compiler may feed it to a sum (`fma`), and no one else may look at it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blockstep.language import numerics
from blockstep.language import types as ty
from blockstep.language.numerics import Format, format_of

Doubles = NDArray[np.float64]
Range = tuple[Any, Any]
UNDECIDED, ORDERED = 1, 2
SMALLEST_NORMAL = 2.0**-126  # of float32: what `.ftz` takes for zero is below it


@dataclass(frozen=True, slots=True)
class Terms:
    """The sum that a matrix product is, for a compiler that starts it from what is added to it."""

    rate: float  # what it may lose of the sum of its terms' sizes
    sizes: Any
    grain: Any  # of which all terms are multiples
    held: float  # so many grains add exactly


@dataclass(slots=True, eq=False)
class Ranged:
    """A value of the scalar type `kind`; arrays broadcast against `value`."""

    value: Any
    kind: ty.dtype
    low: Any = None
    high: Any = None
    flags: Any = None
    product: Range | None = None
    terms: Terms | None = None

    @property
    def certain(self) -> bool:
        """Whether every legal execution has exactly this value, fused or not."""
        plain = self.low is None and self.flags is None
        return plain and self.product is None and self.terms is None

    @property
    def lows(self) -> Any:
        """The lower ends, as float64."""
        return widened(self.value, self.kind) if self.low is None else self.low

    @property
    def highs(self) -> Any:
        """The upper ends, as float64."""
        return widened(self.value, self.kind) if self.high is None else self.high

    @property
    def unfused(self) -> Range:
        """The range, and that of the product before it is rounded."""
        if self.product is None:
            return self.lows, self.highs
        return np.minimum(self.lows, self.product[0]), np.maximum(self.highs, self.product[1])

    @property
    def fixed(self) -> Any:
        """Which elements have one possible value."""
        free = True if self.low is None else fixed(self.low, self.high)
        return free if self.flags is None else free & (self.flags == 0)

    def moved(self, move: Callable[[Any], Any]) -> Ranged:
        """Elements elsewhere: `move` is applied to each array."""
        low, high, flags = [
            None if a is None else move(a) for a in (self.low, self.high, self.flags)
        ]
        product = None if self.product is None else (move(self.product[0]), move(self.product[1]))
        return Ranged(move(self.value), self.kind, low, high, flags, product)


def fixed(low: Any, high: Any) -> Any:
    """Where a range is one number, sign of zero included, or surely NaN."""
    one = (low == high) & (np.signbit(low) == np.signbit(high))
    return one | (np.isnan(low) & np.isnan(high))


@cache
def _to_double(name: str) -> Callable[[Any], Any]:
    return numerics.converter(name, "float64")


def widened(value: Any, kind: ty.dtype) -> Any:
    """A float value as float64, exactly."""
    return _to_double(kind.codegen_name())(np.asarray(value))


def rounded(x: Any, kind: ty.dtype, rounding: str | None = None) -> Any:
    """float64 numbers rounded to a format, as float64. Monotone."""
    narrow = numerics.converter("float64", kind.codegen_name(), rounding)
    return widened(narrow(np.asarray(x, np.float64)), kind)


def form(kind: ty.dtype) -> Format:
    """The format of a float type."""
    return format_of(kind.codegen_name())


def half_unit(kind: ty.dtype) -> float:
    """The relative error of one rounding."""
    return float(2.0 ** -(form(kind).fraction + 1))


def least(kind: ty.dtype) -> float:
    """The distance between subnormal numbers."""
    found = form(kind)
    return float(2.0 ** (1 - found.bias - found.fraction))


def units(x: Any, kind: ty.dtype) -> Any:
    """The distance between the format's numbers at `x`."""
    found = form(kind)
    _, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    exponent = np.where(x == 0, -found.bias, exponent)
    place = np.maximum(exponent - 1, 1 - found.bias) - found.fraction
    return np.ldexp(1.0, np.maximum(place, -1074))


def quantum(x: Any) -> Any:
    """The greatest power of two of which each float64 number is a multiple; infinity for zero."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    bits = (mantissa * 2.0**53).astype(np.int64)
    lowest = np.ldexp((bits & -bits).astype(np.float64), exponent - 53)
    return np.where(x == 0, np.inf, lowest)


def below(x: Any) -> Any:
    """The next float64 toward minus infinity."""
    return np.nextafter(x, -np.inf)


def above(x: Any) -> Any:
    """The next float64 toward infinity."""
    return np.nextafter(x, np.inf)


def sum_range(x: Range, y: Range) -> Range:
    """Encloses the real sums; exact where float64 holds them."""
    return _directed_sum(x[0], y[0], False), _directed_sum(x[1], y[1], True)


def _directed_sum(x: Any, y: Any, up: bool) -> Any:
    """x + y rounded outward, by the error of the sum (Knuth)."""
    total = x + y
    part = total - x
    error = (x - (total - part)) + (y - part)
    off = error > 0 if up else error < 0
    return np.where(off, above(total) if up else below(total), total)


def negative(x: Range) -> Range:
    """The range of the opposite."""
    return -x[1], -x[0]


def product_range(x: Range, y: Range) -> Range:
    """Encloses the real products; exact where float64 holds them. NaN where one may be NaN."""
    lows, highs = zip(*[_outward_product(a, b) for a in x for b in y], strict=True)
    return _least_of(lows), _greatest_of(highs)


def _least_of(xs: Any) -> Any:
    return np.minimum(np.minimum(xs[0], xs[1]), np.minimum(xs[2], xs[3]))


def _greatest_of(xs: Any) -> Any:
    return np.maximum(np.maximum(xs[0], xs[1]), np.maximum(xs[2], xs[3]))


_SPLIT = 134217729.0  # 2**27 + 1


def _halves(x: Any) -> tuple[Any, Any]:
    scaled = x * _SPLIT
    high = scaled - (scaled - x)
    return high, x - high


def _outward_product(x: Any, y: Any) -> Range:
    """Around x * y, by the error of the product (Dekker)."""
    total = x * y
    (a, b), (c, d) = _halves(x), _halves(y)
    error = ((a * c - total) + a * d + b * c) + b * d
    exact = (error == 0) & (np.abs(total) > 1e-290) | (x == 0) | (y == 0) | np.isinf(total)
    exact |= np.isnan(total)
    return np.where(exact, total, below(total)), np.where(exact, total, above(total))


def quotient_range(x: Range, y: Range) -> Range:
    """Encloses the real quotients; NaN where the divisor may be zero and is not surely so."""
    found = [a / b for a in x for b in y]
    low, high = _least_of(found), _greatest_of(found)
    across = (y[0] <= 0) & (y[1] >= 0)
    nothing = np.where(across, np.nan, 0.0)
    return below(low) + nothing, above(high) + nothing


def padded(low: Any, high: Any, count: Any, kind: ty.dtype) -> Range:
    """A range widened by so many units in the last place of the format. At a power of two the unit
    is that of the side with the larger one."""
    outer = 1 + 2.0**-50
    return limited(
        low - count * units(low * outer, kind), high + count * units(high * outer, kind), kind
    )


def limited(low: Any, high: Any, kind: ty.dtype) -> Range:
    """Beyond the largest number of the format lies infinity."""
    largest = form(kind).largest
    return (
        np.where(low < -largest, -np.inf, np.where(low > largest, largest, low)),
        np.where(high > largest, np.inf, np.where(high < -largest, -largest, high)),
    )


def flushed(low: Any, high: Any) -> Range:
    """With zero where the range has subnormal float32 numbers, which `.ftz` takes for zero."""
    return (
        np.where((low > 0) & (low < SMALLEST_NORMAL), 0.0, low),
        np.where((high < 0) & (high > -SMALLEST_NORMAL), -0.0, high),
    )


def flags_of(*operands: Ranged) -> Any:
    """The flags that any operand has; None for none."""
    found = None
    for x in operands:
        if x.flags is not None:
            found = x.flags if found is None else found | x.flags
    return found


def all_fixed(*operands: Ranged) -> Any:
    """Where every operand has one possible value."""
    found: Any = True
    for x in operands:
        found = found & x.fixed
    return found


def finish(
    value: Any, kind: ty.dtype, ends: Range, exact: Any = False, flags: Any = None, nan: Any = False
) -> Ranged:
    """A float result. `exact`: where every execution has the value itself; `nan`: where an operand
    is surely NaN and the result with it. A NaN that is not sure leaves everything open."""
    true = widened(value, kind)
    low, high = np.broadcast_arrays(*ends, true)[:2]
    sure = np.asarray(exact | (nan & np.isnan(true)), bool)
    open_ = (np.isnan(low) | np.isnan(high) | np.isnan(true)) & ~sure
    low, high = np.fmin(low, true), np.fmax(high, true)
    low, high = (
        np.where(low == 0, np.where(high == 0, -0.0, low), low),
        np.where(high == 0, 0.0, high),
    )
    low, high = np.where(sure, true, low), np.where(sure, true, high)
    if open_.any():
        low, high = np.where(open_, -np.inf, low), np.where(open_, np.inf, high)
        flags = np.where(open_, UNDECIDED, 0).astype(np.uint8) | (0 if flags is None else flags)
    return tidied(value, kind, low, high, flags)


def tidied(value: Any, kind: ty.dtype, low: Any, high: Any, flags: Any) -> Ranged:
    """Forgets a range of which every element is one number, and flags that mark nothing."""
    if flags is not None:
        flags = np.asarray(flags, np.uint8)
        flags = np.broadcast_to(flags, np.shape(value)) if flags.any() else None
    if low is not None and fixed(low, high).all():
        low = high = None
    return Ranged(value, kind, low, high, flags)


def anything(value: Any, kind: ty.dtype, flags: Any) -> Ranged:
    """Where flags are set, nothing is known but the value of the step machine; it is sure elsewhere."""
    marked = np.broadcast_to(np.asarray(flags, np.uint8), np.shape(value))
    if not kind.is_floating():
        return tidied(value, kind, None, None, marked)
    true = widened(value, kind)
    low = np.where(marked != 0, -np.inf, true)
    return tidied(value, kind, low, np.where(marked != 0, np.inf, true), marked)
