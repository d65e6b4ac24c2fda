"""The derived error bound: how far a legal compiled execution may differ from the step machine.

`bound` runs the block IR of one launch, as the front end made it, on values that carry the range in
which every legal execution finds them (`interp.bounds`): the ptx machine, a GPU, another compiler.
Legal is: any order of reductions, scans, sums of matrix products and atomics; a product and a sum
as one fused operation; approximate instructions and library functions anywhere within their
documented error; subnormal numbers as zeros where an instruction may flush. With `exact` the
compiler was asked for IEEE arithmetic, and neither contraction nor approximate instructions are.

Where a decision lies within the range (a branch, a comparison, a cast to an integer, a choice) what
comes of it is *undecided*; what depends on which program instance comes first is *ordered*. Neither
is a pass. Where arithmetic is exact the range is one number, and the comparison is bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.interp.bounds import (  # noqa: F401  (each registers its rules)
    arithmetic,
    conversions,
    functions,
    memory,
    products,
    reductions,
)
from blockstep.interp.bounds.handlers import HANDLERS
from blockstep.interp.bounds.machine import BoundMachine
from blockstep.interp.bounds.memory import Cell, Unbounded
from blockstep.interp.bounds.ranges import ORDERED, UNDECIDED, widened
from blockstep.interp.bounds.rules import Freedom
from blockstep.interp.memory import View
from blockstep.ir import Function
from blockstep.language import types as ty


@dataclass(frozen=True, slots=True)
class Difference:
    """An element that no legal execution gives."""

    index: tuple[int, ...]
    expected: Any
    found: Any
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many elements of one array are what. `equal` elements have the step machine's bits (or are
    both NaN), whatever else may be said of them; only the others are judged."""

    name: str
    elements: int
    equal: int
    within: int
    undecided: int
    ordered: int
    wrong: int
    first: Difference | None

    @property
    def passed(self) -> bool:
        """Whether every element is what a legal execution must give; undecided ones are no pass."""
        return self.equal + self.within == self.elements


@dataclass(frozen=True, slots=True, eq=False)
class ArrayBounds:
    """What is known of one array argument after the launch, in its shape: the step machine's values,
    the range of each (float64; NaN for integers and for what is surely NaN), and flags."""

    name: str
    kind: ty.dtype
    value: Any
    low: Any
    high: Any
    flags: Any
    certain: Any

    @property
    def undecided(self) -> Any:
        """Elements behind a decision that another execution may take otherwise."""
        return (self.flags & UNDECIDED) != 0

    @property
    def ordered(self) -> Any:
        """Elements that depend on the order of program instances."""
        return (self.flags & ORDERED) != 0

    def judge(self, found: Any) -> Verdict:
        """Compares with what another machine made of the same launch. Shapes and types must agree."""
        found = np.asarray(found)
        if found.shape != self.value.shape or found.dtype != self.value.dtype:
            raise TypeError(
                f"`{self.name}` is {self.value.dtype}{list(self.value.shape)},"
                f" not {found.dtype}{list(found.shape)}"
            )
        equal = _same_bits(self.value, found, self.kind)
        legal = ~self.certain & self._inside(found)
        flagged = ~equal & legal & (self.flags != 0)
        wrong = ~equal & ~legal
        return Verdict(
            self.name, found.size, int(equal.sum()),
            int((~equal & legal & (self.flags == 0)).sum()),
            int((flagged & ~self.ordered).sum()), int((flagged & self.ordered).sum()),
            int(wrong.sum()), self._first(wrong, found),
        )  # fmt: skip

    def _inside(self, found: Any) -> Any:
        if not self.kind.is_floating():
            return self.flags != 0
        number = widened(found, self.kind)
        inside = (self.low <= number) & (number <= self.high)
        nowhere = ~np.isfinite(self.low) & ~np.isfinite(self.high)  # infinity less infinity is NaN
        return inside | ((self.flags != 0) & nowhere)

    def _first(self, wrong: Any, found: Any) -> Difference | None:
        if not wrong.any():
            return None
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
        return Difference(at, self.value[at], found[at], float(self.low[at]), float(self.high[at]))


def _same_bits(a: Any, b: Any, kind: ty.dtype) -> Any:
    bits = np.dtype(f"u{a.dtype.itemsize}")
    same = np.ascontiguousarray(a).view(bits) == np.ascontiguousarray(b).view(bits)
    same = same.reshape(a.shape)
    if kind.is_floating():
        same |= np.isnan(widened(a, kind)) & np.isnan(widened(b, kind))
    return same


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """What is known of each array argument that was passed, by parameter name."""

    arrays: Mapping[str, ArrayBounds]
    reach_in_doubt: bool = False
    """Whether a legal execution may touch other memory: an address, a mask or a branch is undecided."""

    def __getitem__(self, name: str) -> ArrayBounds:
        return self.arrays[name]

    def judge(self, name: str, found: Any) -> Verdict:
        """The verdict on one array that another machine left."""
        return self.arrays[name].judge(found)


def bound(
    function: Function,
    arguments: Mapping[str, Any],
    grid: tuple[int, int, int],
    exact: bool = False,
    chain: int | None = None,
) -> Bounds:
    """The bounds of one launch. `arguments` by parameter name: a number, or the View of a pointer,
    whose memory is copied, not written. `chain`, where the layouts are known: how many additions an
    element of a reduction goes through at most (any tree is legal otherwise). Raises Unbounded, with the reason, for what cannot be run."""
    machine = BoundMachine(function, dict(arguments), grid, Freedom(exact, chain), HANDLERS)
    machine.run()
    found = {}
    for parameter in function.parameters:
        view = arguments[parameter.name]
        if isinstance(view, View) and view.storage is not None:
            kind = parameter.type.scalar.element_ty  # type: ignore[attr-defined]
            found[parameter.name] = _array(view, kind, machine.memory.of_view(view))
    return Bounds(found, machine.reach_in_doubt)


def _array(view: View, kind: ty.dtype, cell: Cell) -> ArrayBounds:
    index = np.full(view.shape, (int(view.base) - cell.base) // kind.itemsize, np.int64)
    for axis, (n, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        along = np.arange(n, dtype=np.int64) * stride
        index += along.reshape((-1,) + (1,) * (len(view.shape) - axis - 1))
    cell.writer = None
    made = memory.read(cell, index, kind, -1)
    if kind.is_floating():
        low, high = (np.broadcast_to(end, index.shape) for end in (made.lows, made.highs))
    else:
        low = high = np.full(index.shape, np.nan)
    flags = np.zeros(index.shape, np.uint8) if made.flags is None else np.asarray(made.flags)
    certain = np.broadcast_to(np.asarray(made.fixed, bool), index.shape)
    return ArrayBounds(view.name, kind, made.value, low, high, flags, certain)


__all__ = ["ArrayBounds", "Bounds", "Difference", "Unbounded", "Verdict", "bound"]
