"""Rules of comparisons and of masks (see `blockstep.interp.rules`): decided by limits where they
decide, and otherwise a box of positions where the two sides differ along one axis.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from blockstep.interp.forms import (
    Box,
    Shape,
    Strides,
    Uniform,
    added,
    formed,
    known,
    scaled,
    uniform,
)
from blockstep.language.types import block_type, blocked, int1
from blockstep.language.value import tensor

Operands = tuple[Any, ...]
Attributes = dict[str, Any]
Rule = Callable[[Operands, Attributes], Any]


@lru_cache(maxsize=1024)
def _truth(answer: bool, shape: Shape) -> tensor:
    """A mask that is all on or all off."""
    return uniform(np.bool_(answer), blocked(int1, shape))


def _compared(decide: Callable[[int, int, int, int], bool | None], less: bool, equal: bool) -> Rule:
    """x < y, x <= y (`less`), x > y, x >= y by the sign of x - y."""

    def rule(operands: Operands, attributes: Attributes) -> tensor | None:
        x, y = operands
        kind = x.type
        if not kind.scalar._integer:
            return None
        if x.bounds is not None and y.bounds is not None:
            answer = decide(*x.bounds, *y.bounds)
            if answer is not None:
                return _truth(answer, kind.shape)
        a = known(x)
        b = known(y) if a is not None else None
        if a is None or b is None:
            return None
        strides = added(a.strides, scaled(b.strides, -1))
        return _halfspace(a.const - b.const, strides, kind.shape, less, equal)

    return rule


def _halfspace(
    const: int, strides: Strides | None, shape: Shape, less: bool, equal: bool
) -> tensor | None:
    """Where `const + strides . position` is below zero (`less`) or above, or `equal` to it; None
    where that is no box."""
    axes = [k for k, s in enumerate(strides or ()) if s and shape[k] > 1]
    if not axes:
        return _truth(const == 0 and equal or (const < 0 if less else const > 0), shape)
    if len(axes) > 1:
        return None
    assert strides is not None
    axis, n = axes[0], shape[axes[0]]
    step = strides[axis]
    if step < 0:
        const, step, less = -const, -step, not less
    if less == equal:  # d <= 0 and d > 0 part at the last zero, d < 0 and d >= 0 before the first
        edge = -const // step + 1
    else:
        edge = -(const // step)
    low, high = (0, min(edge, n)) if less else (max(edge, 0), n)
    if low >= high:
        return _truth(False, shape)
    if high - low == n:
        return _truth(True, shape)
    limits = [(0, m) for m in shape]
    limits[axis] = (low, high)
    return formed(Box(tuple(limits)), block_type(int1, shape))


def _lt(a: int, b: int, c: int, d: int) -> bool | None:
    return True if b < c else False if a >= d else None


def _le(a: int, b: int, c: int, d: int) -> bool | None:
    return True if b <= c else False if a > d else None


def _equality(same: bool) -> Rule:
    def rule(operands: Operands, attributes: Attributes) -> tensor | None:
        x, y = operands
        if x.bounds is None or y.bounds is None or not x.type.scalar._integer:
            return None
        (a, b), (c, d) = x.bounds, y.bounds
        if a == b == c == d:
            return _truth(same, x.type.shape)
        return _truth(not same, x.type.shape) if b < c or d < a else None

    return rule


def _logic(neutral: bool) -> Rule:
    """`and` (neutral True) and `or` (neutral False) of int1."""

    def rule(operands: Operands, attributes: Attributes) -> tensor | None:
        x, y = operands
        if x.type.scalar is not int1:
            return None
        for one, other in (operands, operands[::-1]):
            if type(one.form) is Uniform or not one.type.shape:
                value = bool(one.form.value if type(one.form) is Uniform else one.handle)
                kept: tensor = other if value is neutral else one
                return kept
        if neutral and type(x.form) is Box and type(y.form) is Box:
            both = x.form.meet(y.form)
            return _truth(False, x.type.shape) if both is None else formed(both, x.type)
        return None

    return rule


COMPARISONS: dict[str, Rule] = {
    "lt": _compared(_lt, less=True, equal=False),
    "le": _compared(_le, less=True, equal=True),
    "gt": _compared(lambda a, b, c, d: _lt(c, d, a, b), less=False, equal=False),
    "ge": _compared(lambda a, b, c, d: _le(c, d, a, b), less=False, equal=True),
    "eq": _equality(True),
    "ne": _equality(False),
    "and": _logic(True),
    "or": _logic(False),
}
