"""Memory of a bounded launch: copies of the arguments' storages, and a range beside each element.

Nothing of the caller's is written. Ranges, flags and the last writer are kept by *granule*, as many
bytes as the first element that was stored there has; an access of another size sees granules that
are in doubt as undecided. An element that another program instance of the launch wrote depends on
the order of instances when it is read.

Float sums by atomics come in any order: each granule keeps the sum of the ranges, the sum of the
sizes and their number (`_Sums`), so that its range is that of `polynomials` for a plain sum.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp import atomics
from blockstep.interp.bounds.ranges import (
    ORDERED,
    SMALLEST_NORMAL,
    UNDECIDED,
    Ranged,
    anything,
    form,
    half_unit,
    quantum,
    tidied,
    widened,
)
from blockstep.interp.memory import Storage, View
from blockstep.language import types as ty


class Unbounded(Exception):
    """The launch cannot be bounded: it says why."""


@dataclass(slots=True, eq=False)
class _Sums:
    """What atomics added to each granule."""

    low: Any
    high: Any
    size: Any
    grain: Any
    count: Any


@dataclass(slots=True, eq=False)
class Cell:
    """A storage: its bytes, and what is known of its granules (None: all of them are certain)."""

    base: int
    data: Any
    granule: int = 0
    low: Any = None
    high: Any = None
    flags: Any = None
    writer: Any = None
    sums: _Sums | None = None
    combine: str = ""  # what atomics do here; two ways do not commute
    tracked: bool = False  # whether it is read as well as written

    def typed(self, dtype: Any) -> Any:
        """The bytes as elements."""
        return self.data[: len(self.data) // dtype.itemsize * dtype.itemsize].view(dtype)

    def settle(self, size: int) -> None:
        """Makes room for ranges."""
        if not self.granule:
            self.granule = size
        if self.low is None:
            count = -(-len(self.data) // self.granule)
            self.low, self.high = np.full(count, np.nan), np.full(count, np.nan)
            self.flags = np.zeros(count, np.uint8)

    def taint(self, flag: int, size: int) -> None:
        """Anything may stand anywhere."""
        self.settle(size)
        self.low[:], self.high[:] = -np.inf, np.inf
        self.flags |= np.uint8(flag)


@dataclass(slots=True, eq=False)
class Memory:
    """The storages of a launch by address."""

    cells: list[Cell] = field(default_factory=list)
    _bases: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, arguments: Mapping[str, Any], tracked: Iterable[str]) -> Memory:
        """Copies of what the arguments lie in; `tracked` are the pointers that are read and written."""
        made, kept = cls(), set(tracked)
        seen: dict[int, Cell] = {}
        for name, view in arguments.items():
            if not isinstance(view, View) or view.storage is None:
                continue
            storage: Storage = view.storage
            if id(storage) not in seen:
                seen[id(storage)] = Cell(storage.base, storage.data.copy())
            seen[id(storage)].tracked |= name in kept
        made.cells = sorted(seen.values(), key=lambda c: c.base)
        made._bases = [c.base for c in made.cells]
        return made

    def spans(self, addresses: Any, size: int) -> list[tuple[Cell, Any, Any]]:
        """The storages that addresses lie in: which of the addresses, and the numbers of their
        elements. Raises Unbounded."""
        found = []
        places = np.searchsorted(self._bases, addresses, side="right") - 1
        for at in np.unique(places).tolist():
            chosen = places == at
            offsets = addresses[chosen] - self._bases[at]
            if at < 0 or int(offsets.max()) + size > len(self.cells[at].data):
                raise Unbounded("an access lies outside of the arguments' memory")
            if np.any(offsets % size):
                raise Unbounded("an access is not aligned")
            found.append((self.cells[at], chosen, offsets // size))
        return found

    def of_view(self, view: View) -> Cell:
        """The storage of an argument."""
        at = bisect_right(self._bases, int(view.base)) - 1
        return self.cells[at]


# What follows works on flat arrays of active lanes: `index` counts elements of the storage.


def read(cell: Cell, index: Any, kind: ty.dtype, program: Any) -> Ranged:
    """Elements, with what is known of them."""
    value = cell.typed(kind.numpy)[index]
    made = Ranged(value, kind)
    if cell.low is not None:
        made = _known(cell, index, value, kind)
    if cell.writer is not None:
        granules = index * kind.itemsize // cell.granule
        others = (cell.writer[granules] >= 0) & (cell.writer[granules] != program)
        if others.any():
            own = np.uint8(0) if made.flags is None else made.flags
            made = anything(value, kind, own | np.where(others, ORDERED, 0).astype(np.uint8))
    return made


def _known(cell: Cell, index: Any, value: Any, kind: ty.dtype) -> Ranged:
    if cell.granule != kind.itemsize:
        doubt = _doubtful(cell, index, kind.itemsize)
        return anything(value, kind, np.where(doubt, UNDECIDED, 0))
    low, high, flags = cell.low[index], cell.high[index], cell.flags[index]
    if not kind.is_floating():
        flags = flags | np.where(np.isnan(low) | (flags != 0), 0, UNDECIDED).astype(np.uint8)
        return tidied(value, kind, None, None, flags)
    true = widened(value, kind)
    sure = np.isnan(low)
    return tidied(value, kind, np.where(sure, true, low), np.where(sure, true, high), flags)


def _granules(cell: Cell, index: Any, size: int) -> Any:
    """The granules of each element, on a new last axis."""
    first = index * size // cell.granule
    return first[..., None] + np.arange(max(1, size // cell.granule))


def _doubtful(cell: Cell, index: Any, size: int) -> Any:
    at = _granules(cell, index, size)
    return (~np.isnan(cell.low[at]) | (cell.flags[at] != 0)).any(axis=-1)


def write(cell: Cell, index: Any, x: Ranged, program: Any) -> None:
    """Stores elements, lane after lane."""
    size = x.kind.itemsize
    cell.typed(x.kind.numpy)[index] = x.value
    note_writer(cell, index, size, program)
    if x.low is None and x.flags is None and cell.low is None:
        return
    cell.settle(size)
    if cell.granule != size:
        doubt = ~np.broadcast_to(x.fixed, index.shape)
        at = _granules(cell, index, size)
        if cell.granule > size:  # what else is in the granule stays in doubt
            doubt = doubt | _doubtful(cell, index, size)
        cell.low[at] = np.where(doubt, -np.inf, np.nan)[..., None]
        cell.high[at] = np.where(doubt, np.inf, np.nan)[..., None]
        cell.flags[at] = np.where(doubt, UNDECIDED, 0)[..., None]
        return
    cell.low[index] = _or_nan(x, x.low)
    cell.high[index] = _or_nan(x, x.high)
    cell.flags[index] = 0 if x.flags is None else x.flags
    if cell.sums is not None:
        cell.sums.count[index] = 0


def _or_nan(x: Ranged, end: Any) -> Any:
    return np.nan if end is None else np.where(x.fixed, np.nan, end)


def note_writer(cell: Cell, index: Any, size: int, program: Any) -> None:
    """Remembers who wrote, in storages that are read as well."""
    if not cell.tracked:
        return
    if not cell.granule:
        cell.granule = size
    if cell.writer is None:
        cell.writer = np.full(-(-len(cell.data) // cell.granule), -1, np.int64)
    at = _granules(cell, index, size)
    cell.writer[at] = np.broadcast_to(program, index.shape)[..., None]


def mark(cell: Cell, index: Any, size: int, flags: Any) -> None:
    """Elements that may hold anything."""
    cell.settle(size)
    flags = np.broadcast_to(np.asarray(flags, np.uint8), index.shape)
    on = flags != 0
    at = _granules(cell, index[on], size)
    cell.low[at], cell.high[at] = -np.inf, np.inf
    np.bitwise_or.at(cell.flags, at, flags[on][..., None])  # several may name one element


def update(cell: Cell, index: Any, x: Ranged, combine: str) -> Any:
    """An atomic, lane after lane: the old values. What is known of the elements follows."""
    kind, size = x.kind, x.kind.itemsize
    memory = cell.typed(kind.numpy)
    floats = kind.is_floating()
    mixed = cell.combine not in ("", combine)
    cell.combine = combine
    if not floats or combine not in ("add", "max", "min"):
        old = atomics.read_modify_write(memory, index, x.value, combine)
        if x.flags is not None:
            mark(cell, index, size, x.flags)
        if combine == "xchg" or mixed:
            mark(cell, index, size, ORDERED)
        return old
    cell.settle(size)
    if cell.granule != size:
        raise Unbounded("atomics on elements of another size than the stores'")
    before = widened(memory[index], kind)
    if combine == "add":
        _begin(cell, index, before)
    else:
        _extend(cell, index, x, before, combine)
        nan = np.isnan(x.lows) | np.isnan(widened(x.value, kind)) | np.isnan(before)
        mark(cell, index, size, np.where(nan, UNDECIDED, 0))
    old = atomics.read_modify_write(memory, index, x.value, combine)
    if combine == "add":
        _add(cell, index, x, widened(memory[index], kind))
    if x.flags is not None:
        np.bitwise_or.at(cell.flags, index, np.broadcast_to(x.flags, index.shape))
    mark(cell, index, size, ORDERED if mixed else cell.flags[index] & ORDERED)
    return old


def _extend(cell: Cell, index: Any, x: Ranged, before: Any, combine: str) -> None:
    """Extremes do not depend on the order, and are monotone, but for NaNs: they are compared by
    their bits, and nobody promises the sign of a NaN."""
    for ends, given in ((cell.low, x.lows), (cell.high, x.highs)):
        ends[index] = np.where(np.isnan(ends[index]), before, ends[index])
        ufunc = np.fmax if combine == "max" else np.fmin
        ufunc.at(ends, index, np.broadcast_to(given, index.shape))


def _begin(cell: Cell, index: Any, before: Any) -> None:
    """The first addend of a sum is what stood there."""
    if cell.sums is None:
        n = len(cell.low)
        low, high, size = np.zeros((3, n))
        cell.sums = _Sums(low, high, size, np.full(n, np.inf), np.zeros(n, np.int64))
    sums = cell.sums
    fresh = index[sums.count[index] == 0]
    given = before[sums.count[index] == 0]
    low, high = cell.low[fresh], cell.high[fresh]
    sums.low[fresh] = np.where(np.isnan(low), given, low)
    sums.high[fresh] = np.where(np.isnan(high), given, high)
    sums.size[fresh] = np.maximum(np.abs(sums.low[fresh]), np.abs(sums.high[fresh]))
    same = sums.low[fresh] == sums.high[fresh]
    sums.grain[fresh] = np.where(same, quantum(sums.low[fresh]), 0.0)


def _add(cell: Cell, index: Any, x: Ranged, after: Any) -> None:
    sums = cell.sums
    assert sums is not None
    low, high = (np.broadcast_to(end, index.shape) for end in (x.lows, x.highs))
    np.add.at(sums.low, index, low)
    np.add.at(sums.high, index, high)
    np.add.at(sums.size, index, np.maximum(np.abs(low), np.abs(high)))
    np.minimum.at(sums.grain, index, np.where(low == high, quantum(low), 0.0))
    np.add.at(sums.count, index, 1)
    size, count, grain = sums.size[index], sums.count[index], sums.grain[index]
    held = 2.0 ** (form(x.kind).fraction + 1)
    # atom.add.f32 takes subnormal numbers for zeros, red.add on float64 and float16 does not
    tiny = SMALLEST_NORMAL if x.kind.is_fp32() else 0.0
    grains = np.where(np.isinf(grain), 1.0, grain)
    exact = (size <= held * grains) & (grain > 0) & (grains >= tiny)
    off = 1.01 * count * half_unit(x.kind) * size + count * (2.0**-52 * size + tiny)
    off = np.where(size * 1.01 > form(x.kind).largest, np.inf, off)
    real = np.isfinite(size)
    low, high = np.fmin(sums.low[index] - off, after), np.fmax(sums.high[index] + off, after)
    sure = exact & real | ~real & np.isnan(after)
    cell.low[index] = np.where(sure, np.nan, np.where(real, low, -np.inf))
    cell.high[index] = np.where(sure, np.nan, np.where(real, high, np.inf))
