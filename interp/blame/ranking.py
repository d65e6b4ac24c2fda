"""Of many elements that were combined, which ones made the result what it is."""

from __future__ import annotations

from typing import Any

import numpy as np

_CHOOSES = frozenset(
    {"minimum", "maximum", "select", "lt", "le", "gt", "ge", "eq", "ne", "constant", "splat"}
)
_DECIDES = frozenset({"and", "or", "xor"})  # of flags


def chosen(lines: list[Any], values: list[Any], region: Any) -> int | None:
    """The position of the element that a region of comparisons chose; None for a region that computes
    something new. Of several like it the first one."""
    if not _only_chooses(region):
        return None
    same: Any = np.ones(len(lines[0]), bool)
    for line, value in zip(lines, values, strict=True):
        same = same & _equal(line, value)
    return int(np.argmax(same)) if same.any() else None


def _only_chooses(region: Any) -> bool:
    return all(
        o.op.name in _CHOOSES
        or (o.op.name in _DECIDES and all(t.scalar.is_int1() for t in o.types))
        for o in region.operations
    ) and not _is_flags(region)


def _is_flags(region: Any) -> bool:
    """A region of flags alone: no element of it is a choice."""
    return all(t.scalar.is_int1() for t in region.inputs)


def _equal(line: Any, value: Any) -> Any:
    """Which elements have the value's bits; any NaN is as good as another."""
    line, value = np.asarray(line), np.asarray(value)
    if line.dtype.kind in "biu":
        return line == value
    nan = np.isnan(line) & np.isnan(value)
    return nan | ((line == value) & (np.signbit(line) == np.signbit(value)))


def largest(line: Any, value: Any, most: int, region: Any = None) -> list[int]:
    """Positions of the `most` elements that weigh most in the result: NaN, then infinities, then by
    magnitude (of a product: by distance from 1; of a conjunction: what is false). Equal ones come
    in their order."""
    single = getattr(region, "single", None)
    weights = _weights(np.asarray(line), "" if single is None else single.op.name)
    picked = [int(p) for p in np.argsort(-weights, kind="stable")[:most]]
    other = _opposite(np.asarray(line), value, picked)
    return picked if other is None else [picked[0], other, *picked[1 : most - 1]]


def _weights(line: Any, combine: str) -> Any:
    """A number for each element; NaN weighs most."""
    with np.errstate(all="ignore"):
        wide = np.abs(line.astype(np.float64))
        if combine == "mul":
            wide = np.abs(np.log2(wide))
    nan = np.isnan(wide)
    weights = np.where(nan, np.inf, np.minimum(np.where(nan, 0, wide), np.finfo(np.float64).max))
    return -weights if combine == "and" and line.dtype == bool else weights


def _opposite(line: Any, value: Any, picked: list[int]) -> int | None:
    """NaN out of two infinities: the first one of the other sign than the first picked."""
    if line.dtype.kind in "biu" or not picked or not np.isnan(np.asarray(value)):
        return None
    wide = line.astype(np.float64)
    if not np.isinf(wide[picked[0]]):
        return None
    others = np.flatnonzero(wide == -wide[picked[0]])
    return int(others[0]) if others.size and int(others[0]) not in picked[:1] else None


__all__ = ["chosen", "largest"]
