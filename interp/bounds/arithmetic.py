"""Sums, products, quotients, extremes, comparisons, choices: operations that IEEE 754 defines.

Each of them rounds once and rounding is monotone, so the ends of the result are the rounded ends of
the real range: where nothing is uncertain the range is one number. A product that goes into a sum
may stay unrounded (contraction); `div.full.f32` is an approximation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.bounds import documented
from blockstep.interp.bounds.ranges import (
    UNDECIDED,
    Range,
    Ranged,
    Terms,
    all_fixed,
    finish,
    flags_of,
    flushed,
    negative,
    padded,
    product_range,
    quantum,
    quotient_range,
    rounded,
    sum_range,
    tidied,
    widened,
)
from blockstep.interp.bounds.rules import Step, elementwise, rule
from blockstep.language import types as ty


def surely_nan(*operands: Ranged) -> Any:
    """Where an operand is NaN in every execution, and with it what is computed from it."""
    found: Any = False
    for x in operands:
        found = found | (np.isnan(x.lows) & np.isnan(x.highs))
    return found


def ends(x: Ranged) -> Range:
    """The range of an operand."""
    return x.lows, x.highs


def rounded_range(real: Range, kind: ty.dtype) -> Range:
    """The ends of a real range after one rounding."""
    return rounded(real[0], kind), rounded(real[1], kind)


def hull(*ranges: Range) -> Range:
    """All of several ranges."""
    low, high = ranges[0]
    for other in ranges[1:]:
        low, high = np.minimum(low, other[0]), np.maximum(high, other[1])
    return low, high


def _made(step: Step, found: Range, exact: Any) -> Ranged:
    xs = step.operands
    return finish(step.value, step.kind, found, exact, flags_of(*xs), surely_nan(*xs))


@rule("add", "sub")
def add(step: Step) -> Ranged | list[Ranged]:
    """x + y, and with either operand as the unrounded product that it may be."""
    if not step.kind.is_floating():
        return elementwise(step)
    x, y = step.operands
    sign = negative if step.op.name == "sub" else _same
    found = [sum_range(ends(x), sign(ends(y)))]
    exact = all_fixed(x, y)
    for a, b in ((x.product, ends(y)), (ends(x), y.product)):
        if a is not None and b is not None:
            found.append(sum_range(a, sign(b)))
    for one in (x, y):
        if one.product is not None:  # rounding the product does nothing where it is exact
            exact = exact & (one.product[0] == one.lows) & (one.product[1] == one.highs)
    for one, other in ((x, y), (y, x)):
        if one.terms is not None and not step.exact:
            reach = np.where(one.lows == one.highs, *_started(one.terms, other))
            found.append((found[0][0] - reach, found[0][1] + reach))
            exact = exact & (reach == 0)
    made = _made(step, hull(*[rounded_range(f, step.kind) for f in found]), exact)
    if step.op.name == "sub" and y.product is not None and not np.any(x.value):
        made.product = negative(y.product)  # -(a * b) may be fused as well
    return made


def _started(terms: Terms, other: Ranged) -> tuple[Any, Any]:
    """What a matrix product may lose more if it starts from the other operand: where it has lost
    nothing by itself, and where it has."""
    size = np.maximum(np.abs(other.lows), np.abs(other.highs))
    grain = np.minimum(terms.grain, quantum(other.lows))
    fits = terms.sizes + size <= terms.held * np.where(np.isinf(grain), 1.0, grain)
    lost = np.where(np.isfinite(size), terms.rate * size, 0.0)
    return np.where(fits & (other.lows == other.highs), 0.0, lost), lost


def _same(x: Range) -> Range:
    return x


@rule("mul", always=True)
def multiply(step: Step) -> Ranged | list[Ranged]:
    """x * y, which keeps what it is before it is rounded."""
    x, y = step.operands
    if not step.kind.is_floating():
        return Ranged(step.value, step.kind) if x.certain and y.certain else elementwise(step)
    real = product_range(ends(x), ends(y))
    made = _made(step, rounded_range(real, step.kind), all_fixed(x, y))
    rounds = bool(np.any((real[0] != made.lows) | (real[1] != made.highs)))
    if not step.exact and rounds:
        low, high = np.fmin(real[0], made.lows), np.fmax(real[1], made.highs)
        made.product = (
            np.broadcast_to(low, step.value.shape),
            np.broadcast_to(high, step.value.shape),
        )
    return made


@rule("fma")
def fma(step: Step) -> Ranged:
    """x * y + z, rounded once."""
    x, y, z = step.operands
    real = sum_range(product_range(ends(x), ends(y)), ends(z))
    return _made(step, rounded_range(real, step.kind), all_fixed(x, y, z))


@rule("fdiv", always=True)
def divide(step: Step) -> Ranged:
    """x / y: `div.full.f32`, also for narrower floats; IEEE for float64 and in the exact mode."""
    x, y = step.operands
    if step.exact or step.kind.is_fp64():
        return divide_rounded(step)
    single = step.kind if step.kind.is_fp32() else ty.float32
    real = hull(quotient_range(ends(x), ends(y)), _flushed_quotient(x, y))
    near = padded(*real, documented.DIV_FULL.ulps, single)
    special = all_fixed(x, y) & _special(step.value, x, y)
    return _made(step, hull(near, rounded_range(near, step.kind)), special)


def _flushed_quotient(x: Ranged, y: Ranged) -> Range:
    """With a quotient that is subnormal as zero."""
    return flushed(*quotient_range(ends(x), ends(y)))


def _special(value: Any, x: Ranged, y: Ranged) -> Any:
    """Quotients of zeros and infinities are not approximate."""
    plain = np.isfinite(x.lows) & np.isfinite(y.lows) & (x.lows != 0) & (y.lows != 0)
    return ~plain


@rule("div_rn")
def divide_rounded(step: Step) -> Ranged:
    """x / y, rounded once."""
    x, y = step.operands
    real = quotient_range(ends(x), ends(y))
    return _made(step, rounded_range(real, step.kind), all_fixed(x, y))


@rule("minimum", "maximum", "clamp")
def extreme(step: Step) -> Ranged | list[Ranged]:
    """Monotone in every operand, and exact."""
    if not step.kind.is_floating():
        return elementwise(step)
    xs = step.operands
    found = tuple(step.meaning(*arrays) for arrays in ([x.lows for x in xs], [x.highs for x in xs]))
    sure = surely_nan(*xs) if np.isnan(widened(step.value, step.kind)).any() else False
    return finish(step.value, step.kind, found, all_fixed(*xs), flags_of(*xs), sure)


@rule("fabs")
def absolute(step: Step) -> Ranged:
    """Zero is the least where the range has both signs."""
    low, high = ends(step.operands[0])
    across = (low < 0) & (high > 0)
    least = np.where(across, 0.0, np.minimum(np.abs(low), np.abs(high)))
    return _made(step, (least, np.maximum(np.abs(low), np.abs(high))), all_fixed(*step.operands))


@rule("lt", "le", "gt", "ge", "eq", "ne")
def compare(step: Step) -> Ranged | list[Ranged]:
    """Decided where no two numbers of the ranges compare otherwise."""
    x, y = step.operands
    if not x.kind.is_floating():
        return elementwise(step)
    sure = all_fixed(x, y) | surely_nan(x, y)
    apart = (x.highs < y.lows) | (y.highs < x.lows)
    touching = _touching(step.op.name, x, y)
    open_ = np.where(sure | apart | touching, 0, UNDECIDED)
    flags = flags_of(x, y)
    if flags is not None:  # a jump does not matter where all of its range is on one side
        flags = np.where(apart & np.isfinite(step_width(x, y)), 0, flags)
    return tidied(step.value, step.kind, None, None, open_ if flags is None else flags | open_)


def step_width(x: Ranged, y: Ranged) -> Any:
    """A number that is finite where both ranges are."""
    return (x.highs - x.lows) + (y.highs - y.lows)


def _touching(name: str, x: Ranged, y: Ranged) -> Any:
    """Ranges that share one end compare alike all the same, for some comparisons."""
    if name in ("lt", "ge"):
        return x.lows >= y.highs
    if name in ("gt", "le"):
        return x.highs <= y.lows
    return False


@rule("and", "or")
def both(step: Step) -> Ranged | list[Ranged]:
    """A sure false decides `and`, a sure true decides `or`."""
    if not step.kind.is_int1():
        return elementwise(step)
    x, y = step.operands
    flags = flags_of(x, y)
    decides = False if step.op.name == "and" else True
    for one in (x, y):
        flags = np.where(one.fixed & (np.asarray(one.value, bool) == decides), 0, flags)
    return tidied(step.value, step.kind, None, None, flags)


@rule("select")
def select(step: Step) -> Ranged:
    """What the condition chooses; where it is in doubt, both, and undecided unless they overlap."""
    condition, x, y = step.operands
    on = np.asarray(condition.value, bool)
    doubt = None if condition.flags is None else condition.flags != 0
    flags = _chosen_flags(on, x, y)
    if not step.kind.is_floating():
        if doubt is not None:
            both_flags = flags_of(x, y)
            same = np.asarray(x.value == y.value)
            jump = np.where(doubt & ~same, condition.flags, 0)
            flags = jump if flags is None else flags | jump
            flags = flags if both_flags is None else flags | np.where(doubt, both_flags, 0)
        return tidied(step.value, step.kind, None, None, flags)
    low, high = np.where(on, x.lows, y.lows), np.where(on, x.highs, y.highs)
    if doubt is not None:
        low, high, flags = _in_doubt(condition, doubt, x, y, (low, high), flags)
    nan = np.isnan(low) & np.isnan(high) & (True if doubt is None else ~doubt)
    made = finish(step.value, step.kind, (low, high), nan, flags, False)
    made.product = _chosen_product(on, doubt, x, y)
    return made


def _chosen_flags(on: Any, x: Ranged, y: Ranged) -> Any:
    if x.flags is None and y.flags is None:
        return None
    first, second = (np.uint8(0) if one.flags is None else one.flags for one in (x, y))
    return np.where(on, first, second)


def _in_doubt(
    condition: Ranged, doubt: Any, x: Ranged, y: Ranged, chosen: Range, flags: Any
) -> tuple[Any, Any, Any]:
    overlap = (x.lows <= y.highs) & (y.lows <= x.highs)
    low, high = np.minimum(x.lows, y.lows), np.maximum(x.highs, y.highs)
    low, high = np.where(doubt, low, chosen[0]), np.where(doubt, high, chosen[1])
    both_flags = flags_of(x, y)
    jump = np.where(doubt & ~overlap, condition.flags, 0).astype(np.uint8)
    if both_flags is not None:
        jump = jump | np.where(doubt, both_flags, 0)
    return low, high, jump if flags is None else flags | jump


def _chosen_product(on: Any, doubt: Any, x: Ranged, y: Ranged) -> Range | None:
    if x.product is None and y.product is None:
        return None
    (a, b), (c, d) = x.unfused, y.unfused
    low, high = np.where(on, a, c), np.where(on, b, d)
    if doubt is None:
        return low, high
    return np.where(doubt, np.minimum(a, c), low), np.where(doubt, np.maximum(b, d), high)
