"""`Tally`: compares values with shadows, one operation at a time, and keeps the records.

Elements that nobody defined (lanes that a mask turns off) are not compared. Where an operand is NaN or
infinite already nothing is said of the result again: what is told is where it began.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.findings import Span
from blockstep.interp.bounds.ranges import form
from blockstep.interp.shadows.records import Example, LineRecord
from blockstep.language import types as ty
from blockstep.language.op import Op
from blockstep.options import Program

Place = tuple[Span, tuple[Span, ...]]
Who = Callable[[int], Program]
_SUMS = frozenset({"add", "sub", "fma"})
_TYPED: dict[str, tuple[int, float, float]] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A result: values in float64, the shadow, the result on the very operands, which elements are
    defined (None: all), and how to name one (`who` gives the program of a flat index)."""

    kind: ty.dtype
    value: Any
    shadow: Any
    local: Any
    defined: Any
    operands: Sequence[Any]
    reals: Sequence[Any]
    who: Who
    block: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Tally:
    """Records by operation and place."""

    records: dict[tuple[str, Place], LineRecord] = field(default_factory=dict)

    def record(self, op: str, place: Place, kind: ty.dtype) -> LineRecord:
        """The record of an operation at a place."""
        key = (op, place)
        found = self.records.get(key)
        if found is None:
            found = self.records[key] = LineRecord(*place, op, str(kind))
        return found

    def add(self, op: Op, place: Place, made: Made, note: str = "") -> None:
        """Compares one result."""
        found = self.record(op.name, place, made.kind)
        if note:
            found.rounded_inputs = note
        value, shadow = np.broadcast_arrays(made.value, made.shadow)
        on = None if made.defined is None else np.broadcast_to(made.defined, value.shape)
        off = np.abs(value - shadow)
        found.elements += value.size if on is None else int(np.count_nonzero(on))
        total = float(off.sum()) if on is None else float(off[on].sum())
        found.squares += _square(shadow, on)
        if not np.isfinite(total):
            self._special(found, made, value, shadow, on)
            off = np.where(np.isfinite(off), off, 0.0)
        elif total == 0.0:
            return
        if on is not None:
            off = np.where(on, off, 0.0)
        found.error_squares += _square(off, None)
        self._errors(found, op, made, (value, shadow, off))

    def _errors(self, found: LineRecord, op: Op, made: Made, arrays: Any) -> None:
        value, shadow, off = arrays
        fraction, tiny, _ = _format(made.kind)
        with np.errstate(all="ignore"):
            ulps = off / (np.maximum(np.abs(shadow), tiny) * 2.0**-fraction)
        ulps = np.where(np.isfinite(ulps), ulps, 0.0)
        found.sum_ulps += float(ulps.sum())
        flat = int(np.argmax(ulps))
        worst = ulps_of(value.reshape(-1)[flat], shadow.reshape(-1)[flat], made.kind)
        if worst > found.worst_ulps:
            found.worst_ulps, found.worst = worst, _example(made, flat)
        introduced = self._introduced(found, made, value, off)
        found.introduced_ulps = max(found.introduced_ulps, introduced)
        lost, size = (value == 0) & (off > 0), np.abs(shadow)
        _count(found, made, "underflowed", "underflow", lost & (size < tiny))
        _count(found, made, "vanished", "vanishing", lost & (size >= tiny))
        largest = _format(made.kind)[2] * (1 + 2.0 ** -(fraction + 1))
        _count(found, made, "saturated", "saturation", (size > largest) & (off > 0))
        small = (np.abs(value) < tiny) & (value != 0)
        found.subnormal += int(np.count_nonzero(small & (off > 0)))
        if op.name in _SUMS:
            self._cancelled(found, made, ulps)

    @staticmethod
    def _introduced(found: LineRecord, made: Made, value: Any, off: Any) -> float:
        if made.local is made.shadow:
            mine = off
        else:
            with np.errstate(all="ignore"):
                mine = np.where(off > 0, np.abs(value - made.local), 0.0)
            mine = np.where(np.isfinite(mine), mine, 0.0)
        if not np.any(mine):
            return 0.0
        found.introduced_squares += _square(mine, None)
        fraction, tiny, _ = _format(made.kind)
        local = np.broadcast_to(made.local, value.shape)
        scaled = mine / (np.maximum(np.abs(local), tiny) * 2.0**-fraction)
        flat = int(np.argmax(np.where(np.isfinite(scaled), scaled, 0.0)))
        return ulps_of(value.reshape(-1)[flat], local.reshape(-1)[flat], made.kind)

    @staticmethod
    def _cancelled(found: LineRecord, made: Made, ulps: Any) -> None:
        """A sum that is much smaller than its terms, of which some carry an error: what was in their
        last places is in its first ones."""
        x, y = (
            (made.reals[0], made.reals[1]) if len(made.reals) == 2 else (made.local, made.reals[-1])
        )
        if made.local is made.shadow:
            return  # exact operands: nothing to bring forward
        largest = np.maximum(np.abs(x), np.abs(y))
        with np.errstate(all="ignore"):
            bits = np.log2(largest / np.abs(np.broadcast_to(made.shadow, ulps.shape)))
        fraction = _format(made.kind)[0]
        bits = np.where(np.isnan(bits), 0.0, np.minimum(bits, fraction + 1))
        half = (bits >= (fraction + 1) / 2) & (ulps >= 2.0 ** ((fraction + 1) / 2 - 1))
        if half.any():
            found.cancelled += int(np.count_nonzero(half))
            most = np.where(half, bits, 0.0)
            flat = int(np.argmax(most))
            if float(most.reshape(-1)[flat]) > found.cancelled_bits:
                found.cancelled_bits = float(most.reshape(-1)[flat])
                found.cancellation = _example(made, flat)

    def _special(self, found: LineRecord, made: Made, value: Any, shadow: Any, on: Any) -> None:
        """NaN and infinities of operands that are none."""
        clean: Any = True
        for x in made.operands:
            if x.dtype.kind == "f":
                clean = clean & (np.isfinite(x) if _fits(x, value) else np.isfinite(x).all())
        if on is not None:
            clean = clean & on
        clean = np.broadcast_to(clean, value.shape)
        nan = np.isnan(value) & self._not_nan(made, value, on)
        large = np.isfinite(shadow) & (np.abs(shadow) > _format(made.kind)[2])
        over = np.isinf(value) & large & clean
        infinite = np.isinf(value) & ~large & clean
        for name, where, example in (
            ("nan_born", nan, "nan"), ("overflowed", over, "overflow"), ("inf_born", infinite, "inf"),
        ):  # fmt: skip
            _count(found, made, name, example, where)

    @staticmethod
    def _not_nan(made: Made, value: Any, on: Any) -> Any:
        """Where no operand is NaN. Of operations that mix elements: whether none is at all."""
        clean: Any = True
        for x in made.operands:
            if x.dtype.kind != "f":
                continue
            if _fits(x, value):
                clean = clean & ~np.isnan(x)
            else:
                clean = clean & ~np.isnan(x).any()
        if on is not None:
            clean = clean & on
        return np.broadcast_to(clean, value.shape)

    def decide(self, op: Op, place: Place, made: Made) -> None:
        """A comparison: `value` and `shadow` are booleans."""
        differs = np.asarray(made.value) != np.asarray(made.shadow)
        if made.defined is not None:
            differs = differs & made.defined
        count = int(np.count_nonzero(differs))
        if count:
            found = self.record(op.name, place, made.kind)
            found.decided += count
            if found.decision is None:
                found.decision = _example(made, int(np.argmax(differs)))


def _count(found: LineRecord, made: Made, name: str, example: str, where: Any) -> None:
    """Counts elements, and keeps the first as an example."""
    count = int(np.count_nonzero(where))
    if count:
        setattr(found, name, getattr(found, name) + count)
        if getattr(found, example) is None:
            setattr(found, example, _example(made, int(np.argmax(where))))


def _square(x: Any, on: Any) -> float:
    """The sum of the squares of the finite elements."""
    flat = np.ascontiguousarray(x if on is None else np.where(on, x, 0.0)).reshape(-1)
    total = float(np.dot(flat, flat))
    if np.isfinite(total):
        return total
    flat = np.where(np.abs(flat) < 1e150, flat, 0.0)
    return float(np.dot(flat, flat))


def _fits(x: Any, value: Any) -> bool:
    try:
        return bool(np.broadcast_shapes(np.shape(x), value.shape) == value.shape)
    except ValueError:
        return False


def _example(made: Made, flat: int) -> Example:
    shape = np.broadcast_shapes(np.shape(made.value), np.shape(made.shadow))
    value = np.broadcast_to(made.value, shape).reshape(-1)[flat]
    shadow = np.broadcast_to(made.shadow, shape).reshape(-1)[flat]
    index = np.unravel_index(flat, shape) if shape else ()
    rank = len(made.block)
    element = tuple(int(i) for i in index[len(index) - rank :]) if rank else ()
    operands = []
    for x in made.operands:
        if _fits(x, np.empty(shape, bool)):
            operands.append(float(np.broadcast_to(x, shape).reshape(-1)[flat]))
    return Example(made.who(flat), element, float(value), float(shadow), tuple(operands))


def _format(kind: ty.dtype) -> tuple[int, float, float]:
    """Bits of the fraction, the least normal number and the largest one of a float type."""
    name = str(kind)
    found = _TYPED.get(name)
    if found is None:
        told = form(kind)
        found = _TYPED[name] = (told.fraction, 2.0 ** _least(told), float(told.largest))
    return found


def _least(told: Any) -> int:
    return int(1 - told.bias)


def ulps_of(value: float, shadow: float, kind: ty.dtype) -> float:
    """How far a value is from its shadow, in units in the last place at the shadow. Goldberg's."""
    if not np.isfinite(value) or not np.isfinite(shadow):
        return 0.0
    fraction, tiny, _ = _format(kind)
    exponent = np.frexp(max(abs(float(shadow)), tiny))[1] - 1
    return float(abs(float(value) - float(shadow)) / 2.0 ** (exponent - fraction))


__all__ = ["Made", "Place", "Tally", "ulps_of"]
