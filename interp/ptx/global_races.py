"""Races in global memory between the threads of one CTA, that no barrier orders.

The lanes of a program instance do not wait for each other: where the source stores an element and
loads it again, a compiler has to put a barrier between. This machine runs all threads of a CTA an
instruction at a time, so that a missing barrier would never show in a value; here it shows.

Between two barriers (an *epoch*) of a CTA, two accesses to one granule race when one of them writes
and they are of different threads that no warp barrier orders, unless both write the same. Threads
of different CTAs are not judged: that is the source's business, and so are atomics.

Invariant: a granule is no wider than any element of the memory that is watched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp.memory import Storage
from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import LANES, Bits, Flags, Frame, Mask

if TYPE_CHECKING:
    from blockstep.interp.ptx.batch import Batch

# A key: epoch of the CTA << 32 | epoch of the warp << 12 | who, with who = 1 + thread, or lanes of one
# warp, or many.
_EPOCH, _WARP = 32, 12
_WHO = (1 << _WARP) - 1
_SEVERAL = 2048  # + warp: several lanes of a warp
_MANY = _WHO
_CTA = 18  # bits of an epoch that count barriers


@dataclass(slots=True, eq=False)
class _Known:
    """One storage: who wrote and who read each granule last."""

    storage: Storage
    writer: Any
    reader: Any
    wrote_at: Any
    read_at: Any


class GlobalRaces:
    """A watcher of some storages: those that a kernel both reads and writes."""

    def __init__(self, storages: Sequence[Storage], granule: int) -> None:
        self.storages, self.granule = storages, granule
        self.places: list[Place] = []
        self._numbers: dict[Place, int] = {}

    def begin(self, batch: Batch) -> None:
        self.judges = not batch.program.partial_barriers and batch.cluster == 1
        self.known = [self._fresh(s) for s in self.storages]
        self.epoch = (np.arange(batch.ctas, dtype=np.int64) << _CTA)[:, None] + 1
        self.warp_epoch = np.zeros((batch.ctas, -(-batch.threads // LANES)), np.int64)

    def _fresh(self, storage: Storage) -> _Known:
        count = -(-storage.nbytes // self.granule)
        keys, places = np.zeros((2, count), np.int64), np.zeros((2, count), np.int32)
        return _Known(storage, *keys, *places)

    def barrier(self, batch: Batch, ctas: Bits) -> None:
        self.epoch[ctas] += 1

    def warp_barrier(self, batch: Batch, cta: Bits, warp: Bits) -> None:
        self.warp_epoch[cta, warp] += 1

    def end(self, batch: Batch) -> None:
        return None

    def access(
        self, frame: Frame, kind: str, space: str, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None, values: Any,
    ) -> None:  # fmt: skip
        """Judges one instruction."""
        if not self.judges or space != "global" or kind not in ("read", "write") or at.size == 0:
            return
        flat = at.reshape(-1) if mask is not None else np.broadcast_to(at, frame.shape).reshape(-1)
        addresses = flat.astype(np.int64)
        for known in self.known:
            storage = known.storage
            inside = (addresses >= storage.base) & (addresses + size <= storage.end)
            if inside.any():
                look = _Look(self, known, frame, addresses, size, mask, place, inside)
                if kind == "read":
                    look.read()
                else:
                    look.write(values)

    def number(self, place: Place) -> int:
        """A small number for a place."""
        found = self._numbers.get(place)
        if found is None:
            found = self._numbers[place] = len(self.places)
            self.places.append(place)
        return found


class _Look:
    """One access to one storage: for each lane (row) the granules that it covers, and its key."""

    def __init__(
        self, races: GlobalRaces, known: _Known, frame: Frame, addresses: Bits, size: int,
        mask: Mask, place: Place, inside: Flags,
    ) -> None:  # fmt: skip
        self.of, self.known, self.frame, self.mask, self.place = races, known, frame, mask, place
        self.size, self.inside = size, inside
        self.offset = addresses[inside] - known.storage.base
        cta = frame.active(frame.cta, mask)[inside][:, None]
        self.tid = frame.active(frame.tid, mask)[inside][:, None]
        count = max(size // races.granule, 1)
        self.granules = (self.offset // races.granule)[:, None] + np.arange(count)
        self.warp_epoch = races.warp_epoch[cta, self.tid // LANES]
        epoch = races.epoch[cta, 0]
        self.key = (epoch << _EPOCH) | (self.warp_epoch << _WARP) | (self.tid + 1)

    def read(self) -> None:
        """What another thread has written since the last barrier is not to be read."""
        known, at = self.known, self.granules
        self._tell(self._races(known.writer[at]), "read", known.wrote_at)
        before = known.reader[at]
        near = _warp_of(before & _WHO) == self.tid // LANES
        several = (self.key & ~np.int64(_WHO)) | (_SEVERAL + self.tid // LANES)
        together = np.where(near, several, self.key | _MANY)
        known.reader[at] = np.where(self._races(before), together, self.key)
        known.read_at[at] = self.of.number(self.place)

    def write(self, values: Any) -> None:
        """What another thread has read or written since is not to be written, but with the same."""
        known, at = self.known, self.granules
        wrote, read = self._races(known.writer[at]), self._races(known.reader[at])
        if wrote.any() or read.any():
            changes = self._changes(values)
            self._tell(read & changes, "write", known.read_at)
            self._tell(wrote & changes, "write", known.wrote_at)
        known.writer[at] = np.broadcast_to(self.key, at.shape)
        known.wrote_at[at] = self.of.number(self.place)

    def _races(self, before: Bits) -> Flags:
        same: Flags = before >> _EPOCH == self.key >> _EPOCH
        who = before & _WHO
        other: Flags = same & (who != self.tid + 1)
        if not other.any():
            return other
        same_warp = _warp_of(who) == self.tid // LANES
        earlier = ((before >> _WARP) & ((1 << (_EPOCH - _WARP)) - 1)) < self.warp_epoch
        found: Flags = other & ~(same_warp & earlier)
        return found

    def _changes(self, values: Any) -> Flags:
        """Of each lane, whether it stores anything but what is there."""
        lanes = self.inside.size
        shape = self.frame.shape if self.mask is None else (lanes,)
        new = np.ascontiguousarray(np.broadcast_to(values, shape)).reshape(-1)[self.inside]
        rows = self.offset[:, None] + np.arange(self.size)
        there = self.known.storage.data[rows]
        bits = new.view(np.uint8).reshape(len(new), self.size)
        changed: Flags = (there != bits).any(axis=1)[:, None]
        return changed

    def _tell(self, wrong: Flags, verb: str, sites: Bits) -> None:
        rows = wrong.any(axis=1)
        if not rows.any():
            return
        first = np.argwhere(wrong)[0]
        related = self.of.places[int(sites[self.granules[first[0], first[1]]])]
        what = f"{verb} of global memory that another lane touches, and no barrier is between"
        full = np.zeros(self.inside.shape, bool)
        full[self.inside] = rows
        flags = full if self.mask is not None else full.reshape(self.frame.shape)
        self.frame.batch.report(
            self.frame, "race", what, flags, self.mask, self.place, None, self.size, related
        )


def _warp_of(who: Bits) -> Bits:
    """The warp of a key's last part; -1 for many."""
    found = np.where(who >= _SEVERAL, who - _SEVERAL, (who - 1) // LANES)
    return np.where(who == _MANY, -1, found)


__all__ = ["GlobalRaces"]
