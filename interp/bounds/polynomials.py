"""Reductions and scans by any tree: how far two orders of the same sums and products may differ.

A combine function that only adds, subtracts and multiplies makes of n elements a polynomial P in
which every monomial is rounded at most K = (n - 1) * operations times, whatever the order. So each
order is within gamma(K) * Q(|x|) of the true value, where Q is P with every sign positive (Higham,
"Accuracy and Stability of Numerical Algorithms", chapters 3 and 4), and an operand that is off by e
moves it by at most Q(|x| + e) - Q(|x|). A plain sum loses at most u of every partial sum; of the
n - 1 partial sums of a tree at most n - k + 1 have k elements or more, and none of k elements is
larger than the k largest elements of one sign together. Whole numbers (or multiples of one power of two) whose sum of sizes fits the
format add exactly in every order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from blockstep.interp.bounds.ranges import (
    UNDECIDED,
    Ranged,
    finish,
    flags_of,
    form,
    half_unit,
    least,
    quantum,
    widened,
)
from blockstep.interp.bounds.rules import Step
from blockstep.language import types as ty
from blockstep.language.op import OPS
from blockstep.language.region import Region

_POLYNOMIAL = frozenset({"add", "sub", "mul"})


def is_polynomial(region: Region) -> bool:
    """Whether the function only adds, subtracts and multiplies floats of one type."""
    kinds = {t for t in region.inputs} | {t for o in region.operations for t in o.types}
    names = {o.op.name for o in region.operations}
    return names <= _POLYNOMIAL and len(kinds) == 1 and region.inputs[0].is_floating()


def _positive(region: Region) -> Region:
    """With a sum in the place of every difference."""
    made = tuple(replace(o, op=OPS["add"]) if o.op.name == "sub" else o for o in region.operations)
    return Region(region.inputs, made, region.outputs, region.bundled)


def bounded(step: Step, region: Region, counts: Any, fold: Any) -> list[Ranged]:
    """The results of a polynomial region. `counts`: how many elements go into each result;
    `fold(ufunc, x)`: that NumPy function reduced, or accumulated, over the elements."""
    xs = step.operands
    arrays = [widened(x.value, x.kind) for x in xs]
    spreads = [_reach(x, a) for x, a in zip(xs, arrays, strict=True)]
    finite = [np.isfinite(a) for a in arrays]
    sizes = [np.where(f, np.abs(a), 0.0) for a, f in zip(arrays, finite, strict=True)]
    positive = _positive(region)
    with np.errstate(all="ignore"):
        true = _run(
            step, region, [np.where(f, a, 0.0) for a, f in zip(arrays, finite, strict=True)]
        )
        majorant = _run(step, positive, [s + e for s, e in zip(sizes, spreads, strict=True)])
        plain = _run(step, positive, sizes) if any(np.any(e) for e in spreads) else majorant
        most = _run(
            step, positive, [np.maximum(s + e, 1.0) for s, e in zip(sizes, spreads, strict=True)]
        )
        steps = _depth(step, counts) * len(region.operations)
        only_sums = region.single is not None and region.single.op.name == "add"
        rounding = (
            _sum_rounding(step, arrays[0], spreads[0], counts, majorant[0]) if only_sums else None
        )
        exact = _exact(step, xs, arrays, counts, most, fold, only_sums, majorant)
        made = []
        for k, kind in enumerate(step.kinds):
            gamma = _gamma(steps, kind)
            off = gamma * majorant[k] if rounding is None else rounding
            off = off + (majorant[k] - plain[k]) * (1 + 1e-9)
            if not only_sums:
                off = off + steps * least(kind) * most[k]
            made.append(
                _result(
                    step,
                    k,
                    true[k],
                    off,
                    (majorant if only_sums else most)[k] * (1 + gamma),
                    exact,
                    finite,
                    fold,
                )
            )
    return made


def _reach(x: Ranged, value: Any) -> Any:
    """How far an operand may be from its value; a product also before it is rounded."""
    low, high = x.unfused
    off = np.maximum(high - value, value - low)
    return np.where(np.isnan(off), 0.0, off)


def _gamma(count: Any, kind: ty.dtype) -> Any:
    """count * u / (1 - count * u), and what float64 itself loses on the true value."""
    off = count * half_unit(kind)
    own = count * 2.0**-53
    return off / (1 - np.minimum(off, 0.5)) + own


def _run(step: Step, region: Region, arrays: list[Any]) -> list[Any]:
    """The reduction or scan itself, on float64 numbers."""
    told = {**step.attributes, "region": region}
    assert step.op.meaning is not None
    found = step.op.meaning(*arrays, **told)
    return list(found) if isinstance(found, tuple) else [found]


def _depth(step: Step, counts: Any) -> Any:
    """How many combinations an element goes through at most."""
    chain = step.freedom.chain
    return counts - 1 if chain is None else np.minimum(counts - 1, chain)


def _sum_rounding(step: Step, x: Any, spread: Any, counts: Any, total: Any) -> Any:
    """u times the largest sum of the sizes of all partial sums, over all trees, for a reduction."""
    kind = step.kind
    shallow = _gamma(_depth(step, counts), kind) * total
    if step.op.name != "reduce":
        return shallow
    axis, n = step.attributes["axis"], int(np.max(counts))
    x, spread = (np.moveaxis(np.broadcast_to(a, np.shape(x)), axis, -1) for a in (x, spread))
    x = np.where(np.isfinite(x), x, 0.0)
    most = np.maximum(_largest_sums(x + spread), _largest_sums(spread - x))
    partial = np.sum(most[..., 1:], axis=-1)
    unit = half_unit(kind)
    return np.minimum(shallow, partial * unit * (1 + 2 * n * unit) + n * 2.0**-52 * total)


def _largest_sums(x: Any) -> Any:
    """For each k, the largest sum of k elements (or fewer)."""
    ordered = np.flip(np.sort(np.maximum(x, 0.0), axis=-1), axis=-1)
    return np.cumsum(ordered, axis=-1)


def _exact(
    step: Step, xs: Any, arrays: Any, counts: Any, most: Any, fold: Any, only_sums: bool, sizes: Any
) -> Any:
    """Where every order gives the same bits."""
    held = 2.0 ** (form(step.kind).fraction + 1)
    alone = fold(np.logical_and, _all_fixed(xs))
    if only_sums:
        grain = fold(np.minimum, quantum(arrays[0]))
        fits = sizes[0] <= held * np.where(np.isinf(grain), 1.0, grain)
        return alone & (fits | (counts == 1))
    whole = True
    for a in arrays:
        whole = whole & (a == np.rint(a))
    fits = True
    for m in most:
        fits = fits & (m <= held)
    return alone & (fold(np.logical_and, whole) & fits | (counts == 1))


def _all_fixed(xs: Any) -> Any:
    """Elements that are one number, of which a product has lost nothing in rounding."""
    found: Any = True
    for x in xs:
        low, high = x.unfused
        found = found & x.fixed & ((low == high) | np.isnan(low))
    return np.broadcast_to(found, np.shape(xs[0].value))


def _result(
    step: Step, k: int, true: Any, off: Any, largest: Any, exact: Any, finite: Any, fold: Any
) -> Ranged:
    kind, value = step.kinds[k], step.values[k]
    single = widened(value, kind)
    if kind.is_fp64():  # the true value is not known better than by another order
        true, off = single, 2 * off
    sure = fold(np.logical_and, _all_fixed(step.operands))
    special = sure & ~np.isfinite(single) & ~fold(np.logical_and, _all(finite))
    flags = _flags(step, fold)
    over = (largest > form(kind).largest) & ~special
    if np.any(over):
        open_ = np.where(over, UNDECIDED, 0).astype(np.uint8)
        flags = open_ if flags is None else flags | open_
        off = np.where(over, np.inf, off)
        true = np.where(over, 0.0, true)
    return finish(value, kind, (true - off, true + off), exact & ~over | special, flags)


def _all(finite: Any) -> Any:
    found: Any = True
    for one in finite:
        found = found & one
    return found


def _flags(step: Step, fold: Any) -> Any:
    flags = flags_of(*step.operands)
    if flags is None:
        return None
    return fold(np.bitwise_or, np.broadcast_to(flags, np.shape(step.operands[0].value)))
