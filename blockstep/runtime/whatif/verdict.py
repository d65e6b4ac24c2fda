"""Drift or bug: whether rounding explains why an output differs from what a reference says.

Every legal execution of the kernel as it is written lies in the range that the derived bound gives;
so does every execution of the same kernel in wider formats in the range that the bound gives of
that. What the formats of the kernel cost lies between the two. A reference inside of both together
(and half a unit in the last place of its own format) is explained by *drift*; outside, the kernel
computes something else, and no format would help: a *bug*. Where a decision of the kernel (a
comparison, a cast to an integer) lies within the error of what it decides by, or nothing bounds the
launch, it is *undecided*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from blockstep.errors import TritonError
from blockstep.interp.bound import Bounds, Unbounded, bound
from blockstep.interp.bounds.ranges import widened as as_double
from blockstep.interp.memory import View
from blockstep.interp.shadows.records import OutputRecord
from blockstep.language import numerics
from blockstep.language import types as ty
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.whatif.measuring import ulp
from blockstep.runtime.whatif.memory import wide
from blockstep.runtime.whatif.rewriting import widened
from blockstep.runtime.whatif.running import Repeated, Values
from blockstep.runtime.whatif.widening import NotWidened

NOISE = 2.0**-30  # of float64 itself, which sums in another order here and there
Answer = Literal["equal", "drift", "bug", "undecided"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """An output against a reference. Of its elements `differ` are not the reference's: *drift*,
    `undecided`, or `outside` of what rounding explains (*bug*). `index` is the first that is outside
    (else the first undecided, else the one that drifts furthest), with its value, the reference, what
    float64 makes of it, and the range that rounding explains. `why` is of what is undecided."""

    output: str
    answer: Answer
    elements: int
    differ: int
    outside: int
    undecided: int
    index: tuple[int, ...] = ()
    value: float = 0.0
    reference: float = 0.0
    shadow: float = 0.0
    low: float = 0.0
    high: float = 0.0
    why: str = ""


class Judge:
    """Judges the outputs of one launch, whose bounds are made once. Memory has to be as it was before
    the launch, and is so afterwards."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.why = "a decision lies within the error of what it decides by"
        self._made: list[Bounds] | None = None
        self._double: Values | None = None  # with the decisions that float64 takes
        self._bounded = True

    def judge(self, made: OutputRecord, reference: Any) -> Verdict:
        """The verdict on one output. Raises ValueError for a reference of another shape."""
        if tuple(reference.shape) != tuple(made.shape):
            raise ValueError(
                f"the reference of `{made.name}` has the shape {list(reference.shape)}, not"
                f" {list(made.shape)}"
            )
        view = next(v for v in self.launch.arguments.values()
                    if isinstance(v, View) and v.name == made.name)  # fmt: skip
        kind = format_of_array(reference)
        right = as_double(np.asarray(reference).reshape(-1)[made.at], kind)
        value = as_double(made.values, view.dtype)
        low, high, open_ = self._ranges(made, value)
        own = 0.5 * ulp(right, kind) if kind.is_floating() else 0.5
        double = self._in_double(made)
        with np.errstate(all="ignore"):
            inside = (right >= low - own) & (right <= high + own)
            inside |= np.abs(right - double) <= own
            open_ = open_ | (np.abs(double - made.shadow) > NOISE * np.abs(made.shadow))
        inside |= np.isnan(right) & (np.isnan(value) | np.isnan(made.shadow))
        same = (right == value) | (np.isnan(right) & np.isnan(value))
        return self._told(made, value, right, (low, high), (same, inside, open_))

    def _in_double(self, made: OutputRecord) -> Any:
        """What the launch leaves in float64, where it decides as float64 does; the shadow has the
        decisions of the kernel."""
        if self._double is None:
            try:
                self._double = Repeated(self.launch).in_double()
            except NotWidened:
                self._double = {}
        found = self._double.get(made.name)
        return made.shadow if found is None else found.reshape(-1)[made.at]

    def _told(self, made: OutputRecord, value: Any, right: Any, limits: Any, is_: Any) -> Verdict:
        same, inside, open_ = is_
        outside, unsure = ~same & ~inside & ~open_, ~same & ~inside & open_
        answer: Answer = "equal"
        chosen = np.zeros(value.shape, bool)
        graver: tuple[tuple[Answer, Any], ...] = (
            ("drift", ~same), ("undecided", unsure), ("bug", outside),
        )  # fmt: skip
        for name, elements in graver:
            if elements.any():
                answer, chosen = name, elements
        flat = _element(answer, chosen, value, right)
        index = np.unravel_index(int(made.at[flat]), made.shape)
        low, high = limits
        return Verdict(
            made.name, answer, made.elements, int((~same).sum()), int(outside.sum()),
            int(unsure.sum()), tuple(int(i) for i in index), float(value[flat]), float(right[flat]),
            float(made.shadow[flat]), float(low[flat]), float(high[flat]),
            self.why if answer == "undecided" else "",
        )  # fmt: skip

    def _bounds(self) -> list[Bounds]:
        """Of the kernel as it is written, and in at least float32, where they can be had."""
        if self._made is None:
            self._made = []
            try:
                self._made.append(self.launch.bounds(False))
                self._made.append(self._in_single())
            except (Unbounded, NotWidened, TritonError) as reason:
                self._bounded, self.why = False, f"nothing bounds it: {reason}"
            finally:
                self.launch.memory.restore()
        return self._made

    def _in_single(self) -> Bounds:
        repeated = Repeated(self.launch)
        how = repeated.at_least(ty.float32)
        arguments = wide(self.launch.arguments, how.memory).arguments
        return bound(widened(repeated.function, how), arguments, self.launch.grid)

    def _ranges(self, made: OutputRecord, value: Any) -> tuple[Any, Any, Any]:
        """By element: the range that rounding explains, and whether a decision lies within it."""
        lows, highs = [value, made.shadow], [value, made.shadow]
        unsure = np.zeros(value.shape, bool)
        for known in self._bounds():
            array = known.arrays[made.name]
            lows.append(array.low.reshape(-1)[made.at])
            highs.append(array.high.reshape(-1)[made.at])
            unsure |= (array.undecided | array.ordered).reshape(-1)[made.at]
        if not self._bounded:
            unsure[...] = True
        with np.errstate(all="ignore"):
            return np.fmin.reduce(lows), np.fmax.reduce(highs), unsure


def _element(answer: Answer, chosen: Any, value: Any, right: Any) -> int:
    """The first element; of drift, the one that is furthest off."""
    if answer != "drift":
        return int(np.argmax(chosen))
    with np.errstate(all="ignore"):
        off = np.abs(value - right)
    return int(np.argmax(np.where(chosen, np.where(np.isfinite(off), off, np.inf), -1.0)))


def format_of_array(array: Any) -> ty.dtype:
    """The language's type of a NumPy array's elements."""
    name = numerics.format_of_storage(np.asarray(array).dtype).name
    kind: ty.dtype = getattr(ty, name)
    return kind


__all__ = ["Answer", "Judge", "Verdict", "format_of_array"]
