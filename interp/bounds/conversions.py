"""Conversions: monotone, so the ends of a range convert to the ends of the result's.

A float that becomes an integer is undecided where its range has two results; the bits of a float
that has a range are undecided. float64 may reach a narrow float through float32 (two roundings).
"""

from __future__ import annotations

import numpy as np

from blockstep.interp.bounds.arithmetic import ends, hull, surely_nan
from blockstep.interp.bounds.ranges import (
    UNDECIDED,
    Range,
    Ranged,
    finish,
    flags_of,
    rounded,
    tidied,
    widened,
)
from blockstep.interp.bounds.rules import Step, elementwise, rule
from blockstep.language import numerics
from blockstep.language import types as ty


@rule("cast", always=True)
def cast(step: Step) -> Ranged | list[Ranged]:
    """The value in another type."""
    (x,) = step.operands
    if x.certain and not (x.kind.is_fp64() and step.kind.is_floating()):
        return Ranged(step.value, step.kind)
    if not x.kind.is_floating():
        return elementwise(step)
    if not step.kind.is_floating():
        return Ranged(step.value, step.kind) if x.certain else _to_integer(step, x)
    found = _ends(x, step.kind, step.attributes.get("rounding"))
    steps = x.kind.is_fp64() and step.kind.primitive_bitwidth < 32
    exact = x.fixed & (True if not steps else found[0] == found[1])
    made = finish(step.value, step.kind, found, exact, flags_of(x), surely_nan(x))
    if x.product is not None and step.kind.primitive_bitwidth > x.kind.primitive_bitwidth:
        made.product = x.product
    return made


def _ends(x: Ranged, kind: ty.dtype, rounding: str | None) -> Range:
    if kind.primitive_bitwidth > x.kind.primitive_bitwidth and kind.primitive_bitwidth >= 32:
        return ends(x)
    found: Range = rounded(x.lows, kind, rounding), rounded(x.highs, kind, rounding)
    if x.kind.is_fp64() and kind.primitive_bitwidth < 32:
        single = rounded(x.lows, ty.float32), rounded(x.highs, ty.float32)
        return hull(found, (rounded(single[0], kind, rounding), rounded(single[1], kind, rounding)))
    return found


def _to_integer(step: Step, x: Ranged) -> Ranged:
    """Decided where both ends give the same integer."""
    convert = numerics.converter("float64", step.kind.codegen_name())
    both = [np.asarray(convert(end)) for end in ends(x)]
    sure = x.fixed | (both[0] == both[1]) & (both[0] == step.value) | surely_nan(x)
    if step.kind.is_int1():
        sure = x.fixed | (x.lows > 0) | (x.highs < 0)
    open_ = np.where(sure, 0, UNDECIDED)
    if x.flags is not None:
        open_ = open_ | np.where(both[0] == both[1], 0, x.flags)
    return tidied(step.value, step.kind, None, None, open_)


@rule("round_tf32")
def round_tf32(step: Step) -> Ranged:
    """Monotone."""
    (x,) = step.operands
    low, high = (
        widened(numerics.tf32_rna(rounded(end, ty.float32).astype(np.float32)), ty.float32)
        for end in ends(x)
    )
    return finish(step.value, step.kind, (low, high), x.fixed, flags_of(x), surely_nan(x))
