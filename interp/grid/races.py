"""Who touches what in a launch, and the proof that no two program instances collide.

Only memory that the kernel writes is logged. Order between program instances only ever removes
conflicts, so what is proved here without any order is proved: first by intervals (each program's
whole footprint lies apart from every other's), else by a table with one cell for each element that
holds none, one program, or many for writes, reads and atomics. That summary is associative and
loses nothing, so the order of batches and masks does not matter. A collision is a `Suspicion`.

Inside one program instance: a load that may see an earlier store of another shape, and stores that
overlap, are suspicious unless a barrier stands between. A store over an earlier one is not where the
same lane of the same block made both, or where it changes nothing.

Irregular stores to memory that the kernel never reads are not logged at first: they are counted, and
if no two lanes share an element (`distinct`), neither two instances nor two stores of one do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from blockstep.interp.grid.checks import Checks
from blockstep.interp.grid.distinct import Distinct, Shared
from blockstep.interp.grid.lanes import LEAD, span
from blockstep.interp.grid.memory import Suspicion, Touch, apart, holds
from blockstep.interp.memory import Storage
from blockstep.ir import Operation

Kind = Literal["read", "write", "atomic"]
MANY = -1


@dataclass(slots=True, eq=False)
class Entry:
    """One access of one batch."""

    kind: Kind
    operation: Operation
    touch: Touch
    programs: Any  # linear ids from 1, shaped to lead

    def same_lanes(self, other: Entry) -> bool:
        """Whether any element that both touch is the same lane's, whatever their masks are."""
        a, b = self.touch, other.touch
        if a.starts is None or b.starts is None or a.itemsize != b.itemsize:
            return False
        if a.strides != b.strides or _whole(a) != _whole(b):
            return False
        return apart(a.strides, _whole(a), a.itemsize) and bool(np.all(_first(a) == _first(b)))

    def footprints(self) -> tuple[Any, Any]:
        """For each program, the first byte and the one after the last (a superset under a mask)."""
        touch = self.touch
        if touch.starts is not None:
            low, high = span(touch.strides, touch.block)
            starts = np.broadcast_to(np.asarray(touch.starts, np.int64), touch.lead)
            return starts + low, starts + high + touch.itemsize
        addresses = np.broadcast_to(touch.addresses, touch.lead + touch.block)
        axes = tuple(range(LEAD, addresses.ndim))
        return addresses.min(axis=axes), addresses.max(axis=axes) + touch.itemsize

    def same_as(self, other: Entry) -> bool:
        """Whether lane for lane both go to the same place under the same mask."""
        a, b = self.touch, other.touch
        if a.mask is not b.mask or a.block != b.block or a.itemsize != b.itemsize:
            return False
        if a.whole != b.whole:
            return False
        if a.starts is not None and b.starts is not None:
            return a.strides == b.strides and bool(np.all(a.starts == b.starts))
        return a.addresses is not None and a.addresses is b.addresses


@dataclass(slots=True, eq=False)
class Log:
    """The accesses of a launch to memory that it writes."""

    checks: Checks = Checks(judged=True, race=True, overlap=True)
    read_back: frozenset[int] = frozenset()  # ids of storages that the launch reads, too
    only_atomic: frozenset[int] = (
        frozenset()
    )  # ids of storages where nothing but atomics goes that never collide
    counts: bool = False  # whether irregular stores are counted first
    counted: dict[int, Distinct] = field(default_factory=dict)
    entries: dict[int, list[Entry]] = field(default_factory=dict)
    storages: dict[int, Storage] = field(default_factory=dict)
    _recent: dict[int, list[Entry]] = field(default_factory=dict)

    def _entry(
        self, kind: Kind, operation: Operation, touch: Touch, coordinates: Any, grid: Any
    ) -> Entry:
        z, y, x = coordinates
        ids = np.broadcast_to(np.asarray((z * grid[1] + y) * grid[0] + x) + 1, touch.lead)
        entry = Entry(kind, operation, touch, ids)
        key = id(touch.storage)
        if self.counts or self._proves(key):
            self.storages[key] = touch.storage
            self.entries.setdefault(key, []).append(entry)
        return entry

    def _proves(self, storage: int) -> bool:
        """Whether program instances must not collide there."""
        return self.checks.race or storage in self.read_back

    def read(self, operation: Operation, touch: Touch, coordinates: Any, grid: Any) -> None:
        """A load of memory that the kernel also writes."""
        entry = self._entry("read", operation, touch, coordinates, grid)
        self._apart(entry)

    def write(
        self, operation: Operation, touch: Touch, coordinates: Any, grid: Any, values: Any = None
    ) -> bool:
        """A store that is about to be made, of `values` (None: of who knows what). Whether it is only
        counted, so that `prove` will answer for all its lanes."""
        key = id(touch.storage)
        if not (self.checks.overlap or self._proves(key)):
            return False
        if self.counts and touch.starts is None and key not in self.read_back:
            if key not in self.counted:
                self.counted[key] = Distinct(touch.storage, touch.itemsize)
            self.counted[key].add(touch)
            return True
        entry = self._entry("write", operation, touch, coordinates, grid)
        self._apart(entry, values)
        if self.checks.overlap:
            self._recent.setdefault(key, []).append(entry)
        return False

    def atomic(self, operation: Operation, touch: Touch, coordinates: Any, grid: Any) -> None:
        """An atomic: among themselves they never collide. One of "cta" scope is no more than a store
        to other program instances."""
        if id(touch.storage) not in self.only_atomic:
            narrow = operation.attributes.get("scope") == "cta"
            self._entry("write" if narrow else "atomic", operation, touch, coordinates, grid)

    def take_in(self, other: Log) -> None:
        """What another worker logged of the same launch."""
        self.storages.update(other.storages)
        for key, counted in other.counted.items():
            if key in self.counted:
                self.counted[key].take_in(counted)
            else:
                self.counted[key] = counted
        for key, entries in other.entries.items():
            self.entries.setdefault(key, []).extend(entries)

    def begin_batch(self) -> None:
        """Other program instances: nothing of theirs was stored before."""
        self._recent = {}

    def barrier(self) -> None:
        """What was stored before may be read back after."""
        self._recent = {}

    def _apart(self, entry: Entry, values: Any = None) -> None:
        """Earlier stores of the same program instance must be the same lanes or elsewhere, or the
        `values` of a store be there already."""
        for earlier in self._recent.get(id(entry.touch.storage), ()):
            same = entry.programs.shape == earlier.programs.shape
            same = same and bool((entry.programs == earlier.programs).all())
            if same and entry.same_as(earlier):
                continue
            low, high = (x.reshape(-1) for x in entry.footprints())
            other_low, other_high = (x.reshape(-1) for x in earlier.footprints())
            if not same:
                _, mine, theirs = np.intersect1d(
                    entry.programs, earlier.programs, assume_unique=True, return_indices=True
                )
                low, high = low[mine], high[mine]
                other_low, other_high = other_low[theirs], other_high[theirs]
            near = (low < other_high) & (other_low < high)
            if not near.any() or (values is not None and same and entry.same_lanes(earlier)):
                continue
            lanes = _meeting(entry, earlier)
            if lanes.any() and (values is None or _changes(entry.touch, values, lanes)):
                raise Suspicion

    def injective(self, touch: Touch) -> bool:
        """Whether the lanes of one program certainly go to different elements."""
        if touch.starts is None:
            return False
        return apart(touch.strides, touch.block, touch.itemsize)

    def prove(self, grid: tuple[int, int, int]) -> None:
        """Raises Suspicion unless no two program instances collide; Shared where a log of every access
        is needed to tell."""
        for key, counted in self.counted.items():
            self._prove_counted(counted, self.entries.pop(key, []))
        if grid[0] * grid[1] * grid[2] == 1:
            return
        for key, entries in self.entries.items():
            if not self._proves(key):
                continue
            atomics = [e for e in entries if e.kind == "atomic"]
            if len({e.touch.itemsize for e in atomics}) > 1:  # they do not keep each other whole
                for entry in atomics:
                    entry.kind = "write"
            kinds = {e.kind for e in entries}
            if "write" not in kinds and kinds != {"atomic", "read"}:
                continue
            if not _intervals_apart(entries):
                _Table(self.storages[key], entries).prove()

    def _prove_counted(self, counted: Distinct, others: list[Entry]) -> None:
        """Regular stores to the same storage join the count."""
        for entry in others:
            if entry.kind != "write":
                raise Shared
            counted.add(entry.touch)
        counted.prove()


def _whole(touch: Touch) -> Any:
    """The shape of the block of which an access is a rectangle."""
    return touch.block if touch.whole is None else touch.whole[0]


def _first(touch: Touch) -> Any:
    """The address of the whole block's first element."""
    box = None if touch.whole is None else touch.whole[1]
    if box is None:
        return touch.starts
    return touch.starts - sum(a * stride for (a, _), stride in zip(box, touch.strides, strict=True))


def _meeting(one: Entry, other: Entry) -> Any:
    """The active lanes of one access that touch a byte of the same instance's other one."""
    grain = min(one.touch.itemsize, other.touch.itemsize)
    mine, theirs = (_keys(entry, grain) for entry in (one, other))
    return np.isin(mine, theirs).reshape(-1, one.touch.itemsize // grain).any(axis=1)


def _changes(touch: Touch, values: Any, lanes: Any) -> bool:
    """Whether some of the active lanes would store other bits than are there."""
    same = holds(touch, values)
    active = same.reshape(-1)
    if touch.mask is not None:
        active = same[np.broadcast_to(touch.mask, same.shape)]
    return not active[lanes].all()


def _keys(entry: Entry, grain: int) -> Any:
    """A number for each program and granule that an access touches."""
    touch = entry.touch
    shape = touch.lead + touch.block
    offsets = np.broadcast_to(touch.dense() - touch.storage.base, shape)
    ids = entry.programs.reshape(entry.programs.shape + (1,) * len(touch.block))
    keys = np.broadcast_to(ids, shape) * np.int64(touch.storage.nbytes + grain) + offsets
    if touch.mask is not None:
        keys = keys[np.broadcast_to(touch.mask, shape)]
    parts = np.arange(0, touch.itemsize, grain)
    return ((keys.reshape(-1, 1) + parts) // grain).reshape(-1)


def _intervals_apart(entries: list[Entry]) -> bool:
    """Whether the programs' whole footprints lie apart."""
    ids = np.concatenate([e.programs.reshape(-1) for e in entries])
    pairs = [e.footprints() for e in entries]
    low = np.concatenate([p[0].reshape(-1) for p in pairs])
    high = np.concatenate([p[1].reshape(-1) for p in pairs])
    if len(entries) > 1:
        order = np.argsort(ids, kind="stable")
        ids, low, high = ids[order], low[order], high[order]
        first = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
        low, high = np.minimum.reduceat(low, first), np.maximum.reduceat(high, first)
    order = np.argsort(low, kind="stable")
    low, high = low[order], high[order]
    return bool((low[1:] >= high[:-1]).all())


class _Table:
    """None, one program or many for each granule of a storage."""

    def __init__(self, storage: Storage, entries: list[Entry]) -> None:
        self.storage = storage
        self.entries = entries
        sizes = {e.touch.itemsize for e in entries}
        self.grain = min(sizes)
        if len(sizes) > 1 or any(self._odd(e.touch) for e in entries):
            self.grain = 1
        cells = storage.nbytes // self.grain
        self.cells: dict[Kind, Any] = {
            kind: np.zeros(cells, np.int32) for kind in {e.kind for e in entries}
        }

    def _odd(self, touch: Touch) -> bool:
        offsets = touch.dense() - self.storage.base
        return bool(np.bitwise_or.reduce(offsets, axis=None) & (self.grain - 1))

    def prove(self) -> None:
        """Raises Suspicion for a collision."""
        for entry in self.entries:
            self._paint(entry)
        write, read, atomic = (self.cells.get(k) for k in ("write", "read", "atomic"))
        if write is not None and (write == MANY).any():
            raise Suspicion
        for one, other in ((write, read), (atomic, write), (atomic, read)):
            if one is None or other is None:
                continue
            both = (one != 0) & (other != 0)
            if (both & ((one != other) | (one == MANY))).any():
                raise Suspicion

    def _paint(self, entry: Entry) -> None:
        touch = entry.touch
        shape = touch.lead + touch.block
        index = np.broadcast_to((touch.dense() - self.storage.base) // self.grain, shape)
        ids = entry.programs.reshape(entry.programs.shape + (1,) * len(touch.block))
        ids = np.broadcast_to(ids, shape)
        if touch.mask is not None:
            on = np.broadcast_to(touch.mask, shape)
            index, ids = index[on], ids[on]
        index, ids = index.reshape(-1), ids.reshape(-1).astype(np.int32)
        table = self.cells[entry.kind]
        for part in range(touch.itemsize // self.grain):
            self._mark(table, index + part, ids)

    def _mark(self, table: Any, index: Any, ids: Any) -> None:
        """First writer, same writer, or many; lanes of other programs that lost the cell see it."""
        old = table[index]
        new = np.where((old == 0) | (old == ids), ids, MANY).astype(np.int32)
        table[index] = new
        lost = table[index] != new
        if lost.any():
            table[index[lost]] = MANY
