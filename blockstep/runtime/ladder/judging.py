"""Compares what a rung left in memory with what the first one left.

Equal bits are equal; so are two NaNs of one type. What differs is wrong on a rung that must keep
bits. On the others it is judged by the derived bound (`interp.bound`). Where order decides (atomics
that give their old values, and what is stored where they say), elements are compared as a set, or
integers as a sum, and that is said. Where the launch cannot be bounded, a kernel all of whose
operations have one result still must keep bits in IEEE arithmetic; any other is not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from blockstep.interp.bound import ArrayBounds, Unbounded, Verdict
from blockstep.ir import Function
from blockstep.language.op import Family
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.memory import Different, Image
from blockstep.runtime.ladder.outcome import Mismatch, Outcome, Status
from blockstep.runtime.ladder.rung import Rule, Rung


def judged(launch: Launch, rung: Rung, wanted: Image) -> Outcome:
    """The outcome of a rung that ran. Memory is put back."""
    differences = launch.memory.differences(wanted)
    launch.memory.restore()
    if not differences:
        return Outcome(rung.name, Status.EQUAL)
    differences.sort(key=lambda d: _place(launch, d))
    if rung.rule is Rule.BITS:
        return Outcome(rung.name, Status.DIFFERS, mismatch=mismatch_of(differences[0]))
    return _by_bound(launch, rung, differences)


def _place(launch: Launch, different: Different) -> int:
    views = launch.bound.space.views
    return views.index(different.view) if different.view in views else len(views)


def _by_bound(launch: Launch, rung: Rung, differences: Sequence[Different]) -> Outcome:
    exact = rung.rule is Rule.EXACT
    try:
        bounds = launch.bounds(exact)
    except Unbounded as unbounded:
        return _unbounded(launch, rung, differences, str(unbounded), exact)
    within = undecided = ordered = 0
    notes: list[str] = []
    ulps = 0.0
    for one in differences:
        known = bounds.arrays.get(one.name) if one.view is not None else None
        if known is None or not _agrees(known, one):
            why = f"nothing bounds `{one.name}`"
            return _unbounded(launch, rung, differences, why, exact)
        verdict = known.judge(np.ascontiguousarray(one.found))
        if verdict.wrong:
            return Outcome(rung.name, Status.DIFFERS, mismatch=_past_limits(one, verdict))
        note = _as_set(known, one) if verdict.ordered else ""
        within, undecided = within + verdict.within, undecided + verdict.undecided
        ordered += 0 if note else verdict.ordered
        notes += [note] if note else []
        ulps = max(ulps, distance(one.wanted[one.wrong], one.found[one.wrong]))
    status = Status.ORDERED if notes else Status.WITHIN
    if undecided or ordered:
        status = Status.UNDECIDED
    return Outcome(rung.name, status, "; ".join(notes), ulps, within, undecided, ordered)


def _agrees(known: ArrayBounds, one: Different) -> bool:
    """Whether the bound was made of the values that are wanted: then it says something of them."""
    if known.value.shape != one.wanted.shape or known.value.dtype != one.wanted.dtype:
        return False
    return bool(known.judge(np.ascontiguousarray(one.wanted)).equal == one.wanted.size)


def _unbounded(
    launch: Launch, rung: Rung, differences: Sequence[Different], why: str, exact: bool
) -> Outcome:
    if exact and keeps_bits(launch.made):
        return Outcome(rung.name, Status.DIFFERS, mismatch=mismatch_of(differences[0]))
    count = sum(d.count for d in differences)
    text = f"{count} elements are not equal, and {why}"
    return Outcome(rung.name, Status.UNJUDGED, text, mismatch=mismatch_of(differences[0]))


_ONE_RESULT = frozenset(
    {Family.SOURCE, Family.SELECT, Family.SHAPE, Family.GATHER}
)  # fmt: skip
_IEEE = frozenset(
    {"add", "sub", "mul", "fdiv", "div_rn", "sqrt", "sqrt_rn", "fma", "fabs", "floor", "ceil",
     "cast", "bitcast", "minimum", "maximum", "clamp", "lt", "le", "gt", "ge", "eq", "ne",
     "load", "store", "addptr", "pointer_to_int", "int_to_pointer"}
)  # fmt: skip
_STRUCTURE = frozenset(
    {"for", "while", "if", "yield", "condition", "return", "program_id", "num_programs", "barrier",
     "hint", "assume", "assert", "print", "call"}
)  # fmt: skip


def keeps_bits(function: Function) -> bool:
    """Whether every operation has one result in IEEE arithmetic, whatever compiles it: no float
    sum over a block, no product of matrices, no function, no atomic."""
    if any(not keeps_bits(callee) for callee in function.callees):
        return False
    return all(
        o.name in _IEEE or o.name in _STRUCTURE or o.op.family in _ONE_RESULT or _integers(o)
        for o in function.walk()
    )


def _integers(operation: Any) -> bool:
    values = [*operation.operands, *operation.results]
    pure = operation.op.family in (Family.ELEMENTWISE, Family.REDUCE, Family.SCAN, Family.DOT)
    return pure and not any(v.type.scalar.is_floating() for v in values)


def mismatch_of(one: Different) -> Mismatch:
    """The first element that differs."""
    at = one.first
    return _mismatch(one, at, one.count)


def _past_limits(one: Different, verdict: Verdict) -> Mismatch:
    assert verdict.first is not None
    low, high = verdict.first.low, verdict.first.high
    return _mismatch(one, verdict.first.index, verdict.wrong, low, high)


def _mismatch(
    one: Different, at: tuple[int, ...], count: int, low: float | None = None,
    high: float | None = None,
) -> Mismatch:  # fmt: skip
    view = one.view
    address, size = one.storage.base + (at[0] if view is None else 0), one.kind.itemsize
    if view is not None:
        address = view.base + sum(i * s for i, s in zip(at, view.strides, strict=True)) * size
    total = one.wrong.size
    text = view.type_text if view is not None else f"{total} bytes"
    if low is None or high is None or not (np.isfinite(low) and np.isfinite(high)):
        low = high = None
    return Mismatch(
        one.name, text, at, one.wanted[at], one.found[at], count, total, address, size, low, high
    )


def _as_set(known: ArrayBounds, one: Different) -> str:
    """What to say where the elements that order decides are the same in another order, or have the
    same sum; empty where neither holds."""
    chosen = known.ordered
    wanted, found = one.wanted[chosen], one.found[chosen]
    bits = np.dtype(f"u{wanted.dtype.itemsize}")
    if np.array_equal(np.sort(wanted.view(bits)), np.sort(found.view(bits))):
        return f"`{one.name}`: {wanted.size} elements compared as a set"
    if wanted.dtype.kind in "iu" and wanted.sum() == found.sum():
        return f"`{one.name}`: {wanted.size} elements compared as a sum"
    return ""


def distance(a: Any, b: Any) -> float:
    """The greatest distance in units in the last place; infinity where only one is a NaN, 0 for
    what are no floats."""
    if a.size == 0 or a.dtype.kind not in "fV":
        return 0.0
    with np.errstate(all="ignore"):
        lost = np.isnan(a.astype(np.float64)) != np.isnan(b.astype(np.float64))
    if lost.any():
        return float("inf")
    kind = f"i{a.dtype.itemsize}"
    least = float(np.iinfo(kind).min)
    x, y = (np.ascontiguousarray(v).view(kind).astype(np.float64) for v in (a, b))
    x, y = (np.where(v < 0, least - v, v) for v in (x, y))
    return float(np.abs(x - y).max())


__all__ = ["distance", "judged", "keeps_bits", "mismatch_of"]
