"""Reductions and scans: any order is legal.

The function that combines decides: whole numbers and extremes do not depend on the order; sums and
products do as `polynomials` says; a function that only compares and chooses (argmax, sort keys) is
followed through one tree, because what wins in one order wins in each (but for ties and NaN); any other function of floats
(Welford's, an online softmax) is undecided as soon as anything rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from blockstep.interp.bounds import polynomials
from blockstep.interp.bounds.ranges import UNDECIDED, Ranged, anything, finish, flags_of, widened
from blockstep.interp.bounds.rules import Freedom, Step, apply, rule, uncertain
from blockstep.language.region import Operation, Region

_CHOOSES = frozenset(
    """lt le gt ge eq ne select minimum maximum clamp and or xor constant fabs bitcast cast""".split()
)
_EXTREMES = frozenset({"minimum", "maximum"})


@rule("reduce", always=True)
def reduce(step: Step) -> list[Ranged]:
    """Elements along an axis, in any tree."""
    axis = step.attributes["axis"]

    def fold(ufunc: Any, x: Any) -> Any:
        return ufunc.reduce(x, axis=axis)

    return _combined(step, np.float64(np.shape(step.operands[0].value)[axis]), fold)


@rule("scan", always=True)
def scan(step: Step) -> list[Ranged]:
    """Elements up to each, in any tree."""
    axis, back = step.attributes["axis"], bool(step.attributes.get("reverse"))

    def fold(ufunc: Any, x: Any) -> Any:
        given = np.flip(x, axis) if back else x
        found = ufunc.accumulate(given, axis=axis)
        return np.flip(found, axis) if back else found

    rank, n = np.ndim(step.operands[0].value), np.shape(step.operands[0].value)[axis]
    counts = np.arange(1.0, n + 1).reshape((-1,) + (1,) * (-axis - 1))
    assert rank >= -axis
    return _combined(step, np.flip(counts, 0) if back else counts, fold)


def _combined(step: Step, counts: Any, fold: Callable[[Any, Any], Any]) -> list[Ranged]:
    region: Region = step.attributes["region"]
    made: list[Ranged] = []
    for part, k in _components(region):
        if k is None:
            return _together(step, region, counts, fold)
        alone = replace(
            step, operands=(step.operands[k],), kinds=(step.kinds[k],), values=(step.values[k],),
            attributes={**step.attributes, "region": part},
        )  # fmt: skip
        made += _together(alone, part, counts, fold)
    return made


def _components(region: Region) -> list[tuple[Region, int | None]]:
    """The function apart, if each result only needs its own two operands."""
    half = len(region.inputs) // 2
    found: list[tuple[Region, int | None]] = []
    for k, output in enumerate(region.outputs):
        part = _component(region, k, half, output)
        if part is None:
            return [(region, None)]
        found.append((part, k))
    return found


def _component(region: Region, k: int, half: int, output: int) -> Region | None:
    wanted, first = {output}, len(region.inputs)
    for number in range(len(region.operations) - 1, -1, -1):
        operation = region.operations[number]
        if first + number in wanted:
            wanted.update(operation.operands)
        if len(operation.types) != 1:
            return None
    if any(v < first and v not in (k, k + half) for v in wanted):
        return None
    names = {k: 0, k + half: 1}
    kept: list[Operation] = []
    for number, operation in enumerate(region.operations):
        if first + number in wanted:
            names[first + number] = 2 + len(kept)
            kept.append(replace(operation, operands=tuple(names[v] for v in operation.operands)))
    inputs = (region.inputs[k], region.inputs[k + half])
    return Region(inputs, tuple(kept), (names[output],))


def _together(step: Step, region: Region, counts: Any, fold: Any) -> list[Ranged]:
    names = {o.op.name for o in region.operations}
    floats = any(
        t.is_floating() for t in (*region.inputs, *(t for o in region.operations for t in o.types))
    )
    if not floats:
        return _open(step, fold)
    if polynomials.is_polynomial(region) and region.operations:
        return polynomials.bounded(step, region, counts, fold)
    if region.single is not None and region.single.op.name in _EXTREMES:
        return [_extreme(step, fold)]
    if names <= _CHOOSES:
        if step.op.name == "reduce":
            return _followed(step, region)
        return _without_nan(step, fold)
    return _rounding(step, counts, fold)


def _open(step: Step, fold: Any) -> list[Ranged]:
    """Undecided where anything that goes into a result is in doubt."""
    flags = np.broadcast_to(uncertain(step), np.shape(step.operands[0].value))
    flags = fold(np.bitwise_or, flags)
    return [anything(v, k, flags) for v, k in zip(step.values, step.kinds, strict=True)]


def _without_nan(step: Step, fold: Any) -> list[Ranged]:
    """A scan that compares: NaN makes of it something that depends on the tree."""
    nan: Any = False
    for x in step.operands:
        if x.kind.is_floating():
            nan = nan | np.isnan(widened(x.value, x.kind))
    lost = np.broadcast_to(nan, np.shape(step.operands[0].value))
    flags = np.where(fold(np.logical_or, lost), UNDECIDED, 0).astype(np.uint8)
    return [
        anything(r.value, r.kind, flags if r.flags is None else r.flags | flags)
        for r in _open(step, fold)
    ]


def _rounding(step: Step, counts: Any, fold: Any) -> list[Ranged]:
    """A function that rounds, and is no polynomial: no two orders need agree."""
    several = np.where(counts > 1, UNDECIDED, 0).astype(np.uint8)
    return [
        anything(r.value, r.kind, several if r.flags is None else r.flags | several)
        for r in _open(step, fold)
    ]


def _extreme(step: Step, fold: Any) -> Ranged:
    """The greatest lies between the greatest lower and the greatest upper end."""
    (x,) = step.operands
    low, high = step.meaning(x.lows), step.meaning(x.highs)
    flags = flags_of(x)
    if flags is not None:
        flags = fold(np.bitwise_or, np.broadcast_to(flags, np.shape(x.value)))
    nan = np.isnan(low) & np.isnan(high)
    return finish(
        step.value,
        step.kind,
        (low, high),
        (low == high) & (low != 0)
        | nan
        | fold(np.logical_and, np.broadcast_to(x.fixed, np.shape(x.value))),
        flags,
    )


def _followed(step: Step, region: Region) -> list[Ranged]:
    """The halving tree of the meaning, on ranges."""
    axis = step.attributes["axis"]
    xs = [x.moved(lambda a: np.moveaxis(a, axis, 0)) for x in map(_filled, step.operands)]
    n = len(xs[0].value)
    while n > 1:
        n //= 2
        low = [x.moved(lambda a: a[:n]) for x in xs]  # noqa: B023  (called at once)
        high = [x.moved(lambda a: a[n:]) for x in xs]  # noqa: B023
        found = through(region, [*low, *high], step.freedom)
        turned = through(region, [*high, *low], step.freedom)
        xs = [
            _either(_filled(a, low[0]), _filled(b, low[0]))
            for a, b in zip(found, turned, strict=True)
        ]
    return [x.moved(lambda a: a[0]) for x in xs]


def _either(found: Ranged, turned: Ranged) -> Ranged:
    """`found`, but undecided where the two operands, turned round, give something else: a tie between
    them, or a comparison with NaN."""
    bits = np.dtype(f"u{found.value.dtype.itemsize}")
    same = np.ascontiguousarray(found.value).view(bits) == np.ascontiguousarray(turned.value).view(
        bits
    )
    differs = ~same.reshape(np.shape(found.value))
    if not differs.any():
        return found
    flags = np.where(differs, UNDECIDED, 0).astype(np.uint8)
    flags = flags if found.flags is None else flags | found.flags
    return anything(found.value, found.kind, flags)


def _filled(x: Ranged, like: Ranged | None = None) -> Ranged:
    """Every array in the value's shape."""
    shape = np.shape(x.value if like is None else like.value)
    return x.moved(lambda a: np.broadcast_to(a, shape))


def through(region: Region, inputs: list[Ranged], freedom: Freedom) -> list[Ranged]:
    """A function of scalars applied to ranged values, operation by operation."""
    values = list(inputs)
    for operation in region.operations:
        operands = [values[i] for i in operation.operands]
        values += apply(operation.op, operation.attributes, operation.types, operands, freedom)
    return [values[i] for i in region.outputs]
