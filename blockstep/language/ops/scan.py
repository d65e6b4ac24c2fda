"""Prefix scan along an axis with any associative combine function.

The meaning is Kogge and Stone's: in step d = 1, 2, 4, … every element from the d-th on is combined
with the one d before it, which stands on the left. Source: P. Kogge and H. Stone, "A parallel
algorithm for the efficient solution of a general class of recurrence equations" (1973).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.language.op import Family, define
from blockstep.language.ops.reduce import axis_first
from blockstep.language.region import Region, spread
from blockstep.language.types import dtype


def _unchanged(*xs: dtype, axis: int, region: Region, reverse: bool = False) -> Any:
    return xs if len(xs) > 1 else xs[0]


def _prefixes(xs: list[Any], region: Region) -> list[Any]:
    n, distance = len(xs[0]), 1
    single = region.single
    while distance < n:
        left, right = [x[:-distance] for x in xs], [x[distance:] for x in xs]
        if single is not None:
            found = [single.op.meaning(left[0], right[0], **single.attributes)]  # type: ignore[misc]
        else:
            found = region.apply(*left, *right)
        xs = [_with_head(x, distance, new) for x, new in zip(xs, found, strict=True)]
        distance *= 2
    return xs


def _with_head(x: Any, distance: int, tail: Any) -> Any:
    return np.concatenate([x[:distance], spread(tail, x[distance:])])


def _exact(x: Any, region: Region) -> Any:
    """Integer sums and products modulo 2^bits, where every order gives the same; else None."""
    single = region.single
    if single is None or x.dtype.kind not in "iu" or single.op.name not in ("add", "mul"):
        return None
    ufunc = np.add if single.op.name == "add" else np.multiply
    return ufunc.accumulate(x, axis=0, dtype=x.dtype)


def _scan(*operands: Any, axis: int, region: Region, reverse: bool = False) -> Any:
    xs = [axis_first(x, axis) for x in operands]
    if reverse:
        xs = [x[::-1] for x in xs]
    exact = _exact(xs[0], region)
    found = _prefixes(xs, region) if exact is None else [exact]
    if reverse:
        found = [x[::-1] for x in found]
    found = [_axis_back(x, axis) for x in found]
    return found[0] if len(found) == 1 else tuple(found)


def _axis_back(x: Any, axis: int) -> Any:
    if x.ndim == 1:
        return x
    position = x.ndim + axis
    return x.transpose((*range(1, position + 1), 0, *range(position + 1, x.ndim)))


SCAN = define(
    "scan",
    Family.SCAN,
    _unchanged,
    _scan,
    "`m n, … -> m n, …`: each element combined by a region with all before it along an axis.",
)
