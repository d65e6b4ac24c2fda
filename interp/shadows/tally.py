"""`Tally`: compares values with shadows, one operation at a time, and keeps the records.

A shadow that is NaN beside a value that is not says that *nothing is known*: the lane of a masked load
that nobody defined, and all that comes of it. Such elements are not compared. Where an operand is NaN
or infinite already nothing is said of the result again: what is told is where it began.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.findings import Span
from blockstep.interp.bounds.ranges import form, widened
from blockstep.interp.memory import Storage
from blockstep.interp.shadows.distance import Distance, measured, ulps, where_worst
from blockstep.interp.shadows.memory import ShadowMemory
from blockstep.interp.shadows.records import Example, LineRecord
from blockstep.interp.shadows.rules import real
from blockstep.language import types as ty
from blockstep.language.op import Family, Op
from blockstep.options import Program

Place = tuple[Span, tuple[Span, ...]]
Who = Callable[[int], Program]
SAMPLE = 1 << 16  # elements of a result of which what the operation itself made is worked out
_SUMS = frozenset({"add", "sub", "fma"})
_MIXES = frozenset({Family.REDUCE, Family.SCAN, Family.DOT, Family.MIX})


@dataclass(slots=True, eq=False)
class Made:
    """A result beside its shadow (arrays of one shape). Operands: `reals` are their shadows, `values`
    gives what they are, both in float64. `cut` takes of an operand or result what a sample of the
    program instances has, None: all. `who` names the program of a flat index, `copies` says how often
    each element stands for another program instance or position."""

    op: Op
    attributes: Any
    kind: ty.dtype
    value: Any
    shadow: Any
    reals: Sequence[Any]
    values: Callable[[], Sequence[Any]]
    who: Who
    block: tuple[int, ...]
    shadowed: bool
    cut: Callable[[Any], Any] | None = None
    copies: int = 1

    @property
    def wide(self) -> Any:
        """The value in float64."""
        return widened(self.value, self.kind)

    def example(self, flat: int) -> Example:
        """One element, with the operands that it was made of alone."""
        shape = np.shape(self.shadow)
        index = np.unravel_index(flat, shape) if shape else ()
        rank = len(self.block)
        element = tuple(int(i) for i in index[len(index) - rank :]) if rank else ()
        operands = tuple(
            float(np.broadcast_to(x, shape)[index]) for x in self.values() if _fits(x, shape)
        )
        if self.op.family in _MIXES:
            operands = ()
        value = float(np.asarray(widened(np.asarray(self.value)[index], self.kind)))
        return Example(self.who(flat), element, value, float(self.shadow[index]), operands)


@dataclass(slots=True, eq=False)
class Tally:
    """Records by operation and place."""

    records: dict[tuple[str, Place], LineRecord] = field(default_factory=dict)

    def record(self, op: str, place: Place, kind: ty.dtype) -> LineRecord:
        """The record of an operation at a place."""
        key = (op, place)
        found = self.records.get(key)
        if found is None:
            found = self.records[key] = LineRecord(*place, op, str(kind), len(self.records))
        return found

    def add(self, place: Place, made: Made, note: str = "") -> Distance:
        """Compares one result."""
        found = self.record(made.op.name, place, made.kind)
        if note:
            found.rounded_inputs = note
        format = form(made.kind)
        value = made.wide if made.value.dtype.char not in "fd" else made.value
        seen = measured(value, made.shadow, format)
        found.elements += made.shadow.size * made.copies
        found.squares += seen.squares * made.copies
        if seen.special:
            self._special(found, made)
        if seen.worst or made.shadowed:
            self._introduced(found, made, seen)
        if not seen.worst:
            return seen
        found.sum_ulps += seen.total * made.copies
        found.error_squares += seen.error_squares * made.copies
        found.subnormal += seen.subnormal * made.copies
        if seen.worst > found.worst_ulps:
            found.worst_ulps = seen.worst
            found.worst = made.example(where_worst(value, made.shadow, format, seen))
        if seen.lost:
            self._lost(found, made)
        if made.op.name == "cast" and seen.worst > 1:
            self._saturated(found, made)
        if made.shadowed and made.op.name in _SUMS and seen.worst >= _half(made.kind):
            self._cancelled(found, made)
        return seen

    @staticmethod
    def _introduced(found: LineRecord, made: Made, seen: Distance) -> None:
        """What the operation made itself, of the operands that it had."""
        if not made.shadowed:
            found.introduced_squares += seen.error_squares * made.copies
            found.introduced_ulps = max(found.introduced_ulps, seen.worst)
            return
        cut = made.cut or (lambda x: x)
        local = real(made.op, made.attributes, [cut(x) for x in made.values()])
        if local is None or isinstance(local, tuple):
            return
        value = widened(cut(made.value), made.kind)
        local = np.broadcast_to(local, value.shape)
        if seen.special:  # of what nobody defined nothing is said
            local = np.where(np.isnan(cut(made.shadow)), np.nan, local)
        own = measured(value, local, form(made.kind))
        share = made.shadow.size / max(value.size, 1)
        found.introduced_squares += own.error_squares * made.copies * share
        found.introduced_ulps = max(found.introduced_ulps, own.worst)

    def _lost(self, found: LineRecord, made: Made) -> None:
        """Zeros whose shadows are none: made here if no operand is such a zero itself."""
        lost = (made.wide == 0) & (made.shadow != 0) & np.isfinite(made.shadow)
        if made.op.family not in _MIXES:
            for x, s in zip(made.values(), made.reals, strict=True):
                if x.dtype.kind == "f" and _fits(x, lost.shape):
                    lost &= ~((x == 0) & (s != 0))
        small = np.abs(made.shadow) < _least(made.kind)
        _count(found, made, "underflowed", "underflow", lost & small)
        _count(found, made, "vanished", "vanishing", lost & ~small)

    @staticmethod
    def _saturated(found: LineRecord, made: Made) -> None:
        """Numbers that stand for larger ones than the type has."""
        largest = form(made.kind).largest
        past = np.abs(made.shadow) > largest * (1 + 2.0 ** -(form(made.kind).fraction + 1))
        _count(found, made, "saturated", "saturation", past & (np.abs(made.wide) == largest))

    @staticmethod
    def _cancelled(found: LineRecord, made: Made) -> None:
        """A sum that is much smaller than its terms, of which some carry an error: what was in their
        last places is in its first ones."""
        x, y = made.reals if len(made.reals) == 2 else (made.reals[2], made.reals[2])
        largest = np.maximum(np.abs(x), np.abs(y))
        off = ulps(made.wide, made.shadow, form(made.kind))
        with np.errstate(all="ignore"):
            bits = np.log2(largest / np.abs(made.shadow))
        fraction = form(made.kind).fraction
        bits = np.where(np.isnan(bits), 0.0, np.minimum(bits, fraction + 1))
        half = (bits >= (fraction + 1) / 2) & (off >= _half(made.kind))
        count = int(np.count_nonzero(half))
        if not count:
            return
        found.cancelled += count * made.copies
        most = np.where(half, bits, 0.0)
        flat = int(np.argmax(most))
        if float(most.reshape(-1)[flat]) > found.cancelled_bits:
            found.cancelled_bits = float(most.reshape(-1)[flat])
            found.cancellation = made.example(flat)

    def _special(self, found: LineRecord, made: Made) -> None:
        """NaN and infinities of operands that are none."""
        odd = ~(np.isfinite(made.value) & np.isfinite(made.shadow))
        value, shadow = widened(made.value[odd], made.kind), made.shadow[odd]
        unknown = np.count_nonzero(np.isnan(shadow) & ~np.isnan(value))
        found.elements -= int(unknown) * made.copies
        finite, numbers, known = _operands(made, odd)
        nan = np.isnan(value) & numbers & known
        infinite = np.isinf(value) & finite & known
        over = infinite & np.isfinite(shadow) & (np.abs(shadow) > form(made.kind).largest)
        born = infinite & ~over
        for name, where, example in (
            ("nan_born", nan, "nan"), ("overflowed", over, "overflow"), ("inf_born", born, "inf"),
        ):  # fmt: skip
            whole = np.zeros(made.shadow.shape, bool)
            whole[odd] = where
            _count(found, made, name, example, whole)

    def decide(self, place: Place, made: Made, differs: Any) -> None:
        """Answers that the shadow would give otherwise."""
        count = int(np.count_nonzero(differs))
        if count:
            found = self.record(made.op.name, place, made.kind)
            found.decided += count * made.copies
            if found.decision is None:
                found.decision = made.example(int(np.argmax(differs)))


def _count(found: LineRecord, made: Made, name: str, example: str, where: Any) -> None:
    """Counts elements, and keeps the first as an example."""
    count = int(np.count_nonzero(where))
    if count:
        setattr(found, name, getattr(found, name) + count * made.copies)
        if getattr(found, example) is None:
            setattr(found, example, made.example(int(np.argmax(where))))


def _operands(made: Made, at: Any) -> tuple[Any, Any, Any]:
    """For the elements `at` of the result: whether all that each is made of is finite, is no NaN, is
    known."""
    finite: Any = True
    numbers: Any = True
    known: Any = True
    shape = made.shadow.shape
    for place, (x, s) in enumerate(zip(made.values(), made.reals, strict=True)):
        if x.dtype.kind != "f":
            continue
        if made.op.family in _MIXES:
            there, number, told = (
                _gathered(good, made, place, shape, at)
                for good in (np.isfinite(x), ~np.isnan(x), ~(np.isnan(s) & ~np.isnan(x)))
            )
        else:
            v, r = np.broadcast_to(x, shape)[at], np.broadcast_to(s, shape)[at]
            there, number, told = np.isfinite(v), ~np.isnan(v), ~(np.isnan(r) & ~np.isnan(v))
        finite, numbers, known = finite & there, numbers & number, known & told
    return finite, numbers, known


def _gathered(good: Any, made: Made, place: int, shape: tuple[int, ...], at: Any) -> Any:
    """What is good of an operand, for each element of the result."""
    family = made.op.family
    if bool(good.all()):
        return np.True_
    if family is Family.REDUCE:
        good = good.all(axis=made.attributes["axis"])
    elif family is Family.SCAN:
        good = np.expand_dims(good.all(axis=made.attributes["axis"]), made.attributes["axis"])
    elif family is Family.DOT and place < 2:
        axis = -1 if place == 0 else -2
        good = np.expand_dims(good.all(axis=axis), axis)
    return np.broadcast_to(good, shape)[at] if _fits(good, shape) else np.False_


def _least(kind: ty.dtype) -> float:
    """The least normal number."""
    return float(2.0 ** (1 - form(kind).bias))


def _half(kind: ty.dtype) -> float:
    """So many ulps that half of the digits are gone."""
    return float(2.0 ** ((form(kind).fraction + 1) / 2 - 1))


def _fits(x: Any, shape: tuple[int, ...]) -> bool:
    try:
        return bool(np.broadcast_shapes(np.shape(x), shape) == shape)
    except ValueError:
        return False


def left(memory: ShadowMemory, storage: Storage, index: Any, kind: ty.dtype, op: Op) -> Made:
    """What lies in elements of memory, beside its shadow."""
    value = storage.typed(kind.numpy)[index]
    shadow = memory.read(storage, index, kind, widened(value, kind))
    return Made(op, {}, kind, value, shadow, (), tuple, lambda flat: (0, 0, 0), (), False)


def ulps_of(value: float, shadow: float, kind: ty.dtype) -> float:
    """How far a value is from its shadow, in units in the last place at the shadow. Goldberg's."""
    return float(ulps(np.float64(value), np.float64(shadow), form(kind)))


__all__ = ["Made", "Place", "Tally", "left", "ulps_of"]
