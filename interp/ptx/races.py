"""Races and unwritten bytes in shared memory, for kernels whose threads meet at barriers of a CTA.

Between two barriers (an *epoch*) nothing orders the threads of a CTA, but lanes of a warp that meet
at `bar.warp.sync`. Each granule of shared memory keeps who wrote it last and who read it last as
one number: epoch, warp epoch, thread. Two accesses race when one writes, both are of the
same epoch, and they are of different threads that no warp barrier orders.

An asynchronous copy writes when its thread has waited for its group; others may read after the next
barrier. Where threads are ordered otherwise (mbarriers, named barriers, clusters), races are not
judged (`ordered`): what is unwritten, and what is not waited for, still is.

The asynchronous units see what threads wrote once a `fence.proxy.async` stands between: the writer's own
behind the write, or one of any thread behind a barrier.

Invariant: a granule is no wider than any access of the kernel, so that an access covers granules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import LANES, Bits, Flags, Frame, Mask
from blockstep.interp.ptx.memory import item

if TYPE_CHECKING:
    from blockstep.interp.ptx.batch import Batch
    from blockstep.interp.ptx.program import Program

# A key: epoch << 32 | warp epoch << 12 | who, with who = 1 + thread, or lanes of one warp, or many.
_EPOCH, _WARP = 32, 12
_WHO = (1 << _WARP) - 1
_SEVERAL = 2048  # + warp: several lanes of a warp
_MANY = _WHO
WARPGROUP = 4 * LANES
KEPT = 16  # groups of copies whose end is remembered
_READERS = {"product": (WARPGROUP, "wgmma", "products"), "bulk": (1, "bulk copy", "bulk copies")}
"""What reads shared memory until it is waited for: how many threads are one party, its name, and what
the batch calls its groups."""


class SharedRaces:
    """A watcher of shared memory."""

    def __init__(self, program: Program) -> None:
        self.granule = program.granule
        self.ordered = not program.partial_barriers
        self.places: list[Place] = []
        self._numbers: dict[Place, int] = {}

    def begin(self, batch: Batch) -> None:
        count = batch.ctas * batch.memory.row // self.granule
        self.row = batch.memory.row // self.granule
        self.writer = np.zeros(count, np.int64)
        self.reader = np.zeros(count, np.int64)
        self.copier = np.zeros(count, np.int64)  # group << 12 | 1 + thread of a copy
        self.wrote_at = np.zeros(count, np.int32)
        self.read_at = np.zeros(count, np.int32)
        self.epoch = np.ones((batch.ctas, 1), np.int64)
        self.warp_epoch = np.zeros((batch.ctas, -(-batch.threads // LANES)), np.int64)
        self.copies = False
        self.fences = np.zeros((batch.ctas, batch.threads), np.int64)  # of a thread, so far
        self.fence_epoch = np.zeros((batch.ctas, 1), np.int64)  # of the last one of a CTA
        self.fenced_at = np.zeros(count, np.int64)  # how many its writer had behind it; -1: engine
        self.flying = {kind: _Flying(count, *told) for kind, told in _READERS.items()}
        batch.state["races"] = self

    def end(self, batch: Batch) -> None:
        return None

    def barrier(self, batch: Batch, ctas: Bits) -> None:
        self.epoch[ctas] += 1

    def warp_barrier(self, batch: Batch, cta: Bits, warp: Bits) -> None:
        self.warp_epoch[cta, warp] += 1

    def access(
        self, frame: Frame, kind: str, space: str, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None, values: Any,
    ) -> None:  # fmt: skip
        if space != "shared" or at.size == 0:
            return
        if (
            kind == "read"
            and mask is None
            and good is None
            and self._all_read(frame, at, size, place)
        ):
            return
        look = _Look(self, frame, at, size, mask, place, good)
        if kind == "read":
            self._read(look)
        elif kind in ("write", "engine"):
            self._write(look, values)
            behind = -1 if kind == "engine" else self.fences[look.cta, look.tid]
            self.fenced_at[look.granules] = np.broadcast_to(behind, look.granules.shape)
        elif kind in self.flying:
            self._read_on(look, kind)
        elif kind == "atomic":
            self._atomic(look)
        else:
            self._copy(look)

    def fence(self, cta: Bits, tid: Bits) -> None:
        """These threads ran a fence between what they do and what the asynchronous units do."""
        self.fences[cta, tid] += 1
        self.fence_epoch[cta, 0] = self.epoch[cta, 0]

    def _all_read(self, frame: Frame, at: Bits, size: int, place: Place) -> bool:
        """A read of the same bytes by all threads of each CTA is noted at once, if nobody can be in
        its way; says whether that was so."""
        if frame.flat or at.shape[1] > 1 or frame.shape[1] <= LANES:
            return False
        granules = at // self.granule + np.arange(max(size // self.granule, 1))
        before, epoch = self.writer[granules], self.epoch[frame.cta[:, 0]]
        if ((before == 0) | (before >> _EPOCH == epoch)).any():
            return False
        if self.copies and self.copier[granules].any():
            return False
        self.reader[granules] = epoch << _EPOCH | _MANY
        self.read_at[granules] = self.number(place)
        return True

    def number(self, place: Place) -> int:
        """A small number for a place."""
        found = self._numbers.get(place)
        if found is None:
            found = self._numbers[place] = len(self.places)
            self.places.append(place)
        return found

    # what is told

    def _check_read(self, look: _Look) -> None:
        before = self.writer[look.granules]
        look.tell_if(
            (before == 0) & (self.copier[look.granules] == 0), "uninitialised", "shared memory"
        )
        look.tell_if(
            look.races(before), "race", "read of what another thread writes", before, self.wrote_at
        )
        self._check_copies(look, "read of a copy that was not waited for")

    def _read(self, look: _Look) -> None:
        self._check_read(look)
        self._note_readers(look)

    def _write(self, look: _Look, values: Any) -> None:
        bits = look.bits(values)
        before, read = self.writer[look.granules], self.reader[look.granules]
        clash = look.races(before) | look.races(read)
        if clash.any():  # nobody can tell who wrote if all write the same
            clash &= look.content() != bits
            look.tell_if(
                clash & look.races(before), "race", "write of what another thread writes", before,
                self.wrote_at,
            )  # fmt: skip
            look.tell_if(
                clash & look.races(read), "race", "write of what another thread reads", read,
                self.read_at,
            )  # fmt: skip
        self._check_copies(look, "write of a copy that was not waited for")
        self._check_flying(look, "write")
        self._note_writers(look, bits)

    def _atomic(self, look: _Look) -> None:
        self._check_copies(look, "atomic on a copy that was not waited for")
        before = self.writer[look.granules]
        look.tell_if(before == 0, "uninitialised", "shared memory")
        self.wrote_at[look.granules] = look.site

    def _copy(self, look: _Look) -> None:
        before, read = self.writer[look.granules], self.reader[look.granules]
        look.tell_if(
            look.races(before),
            "race",
            "copy over what another thread writes",
            before,
            self.wrote_at,
        )
        look.tell_if(
            look.races(read), "race", "copy over what another thread reads", read, self.read_at
        )
        self._check_copies(look, "copy over a copy that was not waited for")
        self._check_flying(look, "copy")
        groups = look.frame.batch.state["copy groups"]
        group = groups.committed[look.cta, look.tid] + 1
        self.copies = True
        self.copier[look.granules] = (group << _WARP) | (look.tid + 1)
        self.writer[look.granules] = 0
        self.wrote_at[look.granules] = look.site

    def _read_on(self, look: _Look, kind: str) -> None:
        """What reads until its group is waited for."""
        self._check_read(look)
        self._check_fences(look, self.flying[kind].name)
        self.flying[kind].note(look)

    def _check_fences(self, look: _Look, name: str) -> None:
        """Whether the units may still see what was there before the last write."""
        key, behind = self.writer[look.granules], self.fenced_at[look.granules]
        if not (key != 0).any():
            return
        owner = np.maximum((key & _WHO) - 1, 0)
        own = self.fences[look.cta, np.minimum(owner, self.fences.shape[1] - 1)] > behind
        later = self.fence_epoch[look.cta, 0] >= (key >> _EPOCH) + self.ordered
        unseen = (key != 0) & (behind >= 0) & ~own & ~later
        look.tell_if(
            unseen, "async", f"no proxy fence before a {name} reads it", key, self.wrote_at
        )

    def _check_flying(self, look: _Look, what: str) -> None:
        for one in self.flying.values():
            groups = look.frame.batch.state.get(one.groups)
            if groups is None:
                continue
            key = one.key[look.granules]
            owner, group = np.maximum((key & _WHO) - 1, 0), key >> _WARP
            flying = (key != 0) & (group > groups.done[look.cta, owner])
            one.tell(look, flying, "async", f"{what} of what a {one.name} still reads")
            ended = groups.ended[look.cta, owner, group % KEPT] == self.epoch[look.cta, 0]
            early = self.ordered & (key != 0) & ~flying & ended & (owner != look.tid // one.each)
            one.tell(look, early, "race", f"{what} of what another's {one.name} reads")

    def _check_copies(self, look: _Look, what: str) -> None:
        if not self.copies:
            return
        key = self.copier[look.granules]
        if not key.any():
            return
        groups = look.frame.batch.state["copy groups"]
        owner, group = np.maximum((key & _WHO) - 1, 0), key >> _WARP
        flying = (key != 0) & (group > groups.done[look.cta, owner])
        look.tell_if(flying, "async", what, key & _WHO, self.wrote_at)
        ended = groups.ended[look.cta, owner, group % KEPT]
        early = (
            self.ordered
            & (key != 0)
            & ~flying
            & (owner != look.tid)
            & (ended == self.epoch[look.cta, 0])
        )
        look.tell_if(early, "race", f"{what} behind a barrier", key & _WHO, self.wrote_at)

    # what is kept

    def _note_writers(self, look: _Look, bits: Bits) -> None:
        granules = look.granules
        self.writer[granules] = np.broadcast_to(look.key, granules.shape)
        self.copier[granules] = 0
        self.wrote_at[granules] = look.site
        other = self.writer[granules]
        twice = other != look.key
        if self.ordered and twice.any():
            last = np.zeros(self.writer.size, bits.dtype)
            last[granules] = bits
            twice &= last[granules] != bits
            look.tell_if(twice, "race", "two threads write here at once", other, self.wrote_at)

    def _note_readers(self, look: _Look) -> None:
        granules, key = look.granules, np.broadcast_to(look.key, look.granules.shape)
        before = self.reader[granules]
        self.reader[granules] = key
        now = self.reader[granules]
        self.read_at[granules] = look.site
        for other in (before, now):
            same = (other >> _EPOCH) == (key >> _EPOCH)
            differs = same & ((other & _WHO) != (key & _WHO))
            if differs.any():
                self._note_several(granules, key, other, differs)

    def _note_several(self, granules: Bits, key: Bits, other: Bits, differs: Flags) -> None:
        mine, theirs = _warp_of(key[differs] & _WHO), _warp_of(other[differs] & _WHO)
        at = granules[differs]
        base = key[differs] & ~np.int64(_WHO)
        near = mine == theirs
        self.reader[at[near]] = base[near] | (_SEVERAL + mine[near])
        self.reader[at[~near]] = base[~near] | _MANY


class _Flying:
    """The last read of each granule by what reads until it is waited for: group << 12 | 1 + party."""

    def __init__(self, count: int, each: int, name: str, groups: str) -> None:
        self.each, self.name, self.groups = each, name, groups
        self.key = np.zeros(count, np.int64)
        self.at = np.zeros(count, np.int32)

    def note(self, look: _Look) -> None:
        """A read begins."""
        party = look.tid // self.each
        group = look.frame.batch.state[self.groups].committed[look.cta, party] + 1
        self.key[look.granules] = (group << _WARP) | (party + 1)
        self.at[look.granules] = look.site

    def tell(self, look: _Look, wrong: Flags, kind: str, what: str) -> None:
        """Report the lanes with a granule where something is wrong."""
        look.tell_if(wrong, kind, what, np.zeros((1, 1), np.int64), self.at)


def _warp_of(who: Bits) -> Bits:
    """The warp of a key's last part; -1 for many."""
    found = np.where(who >= _SEVERAL, who - _SEVERAL, (who - 1) // LANES)
    return np.where(who == _MANY, -1, found)


class _Look:
    """One access: for each lane (row) the granules it covers, and its key."""

    def __init__(
        self, races: SharedRaces, frame: Frame, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None,
    ) -> None:  # fmt: skip
        self.races_of, self.frame, self.mask = races, frame, mask
        self.place, self.size = place, size
        self.at = at if mask is not None else np.broadcast_to(at, frame.shape).reshape(-1)
        self.good = None
        if good is not None:
            self.good = good if mask is not None else np.broadcast_to(good, frame.shape).reshape(-1)
        self.cta = frame.active(frame.cta, mask)[:, None]
        self.tid = frame.active(frame.tid, mask)[:, None]
        first = self.at // races.granule
        count = max(size // races.granule, 1)
        self.granules = first[:, None] + np.arange(count)
        if self.good is not None:
            for name in ("at", "cta", "tid", "granules"):
                setattr(self, name, getattr(self, name)[self.good])
        epoch = races.epoch[self.cta, 0]
        self.warp_epoch = races.warp_epoch[self.cta, self.tid // LANES]
        self.key = (epoch << _EPOCH) | (self.warp_epoch << _WARP) | (self.tid + 1)
        self.site = races.number(place)

    def races(self, before: Bits) -> Flags:
        """Where an earlier access by key is of another thread, and nothing orders the two."""
        if not self.races_of.ordered:
            return np.zeros(np.broadcast_shapes(before.shape, self.key.shape), bool)
        same_epoch: Flags = (before >> _EPOCH) == (self.key >> _EPOCH)
        if not same_epoch.any():
            return same_epoch
        who = before & _WHO
        other: Flags = same_epoch & (who != self.tid + 1)
        if not other.any():
            return other
        same_warp = _warp_of(who) == self.tid // LANES
        earlier = ((before >> _WARP) & ((1 << (_EPOCH - _WARP)) - 1)) < self.warp_epoch
        found: Flags = other & ~(same_warp & earlier)
        return found

    def bits(self, values: Any) -> Bits:
        """What a store writes, for each lane and granule."""
        lanes = self.at.shape if self.good is None else self.good.shape
        shape = self.frame.shape if self.mask is None else lanes
        full = np.ascontiguousarray(np.broadcast_to(values, shape)).reshape(-1)
        bits = full.view(item(self.races_of.granule)).reshape(full.size, -1)
        return bits if self.good is None else bits[self.good]

    def content(self) -> Bits:
        """What is there before."""
        memory = self.frame.batch.memory
        return memory.shared.view(item(self.races_of.granule))[self.granules]

    def tell_if(
        self, wrong: Flags, kind: str, what: str, key: Bits | None = None, sites: Bits | None = None
    ) -> None:
        """Report the lanes with a granule where something is wrong."""
        if not wrong.any():
            return
        races = self.races_of
        rows: Any = wrong.any(axis=1)
        related, thread = None, None
        if key is not None and sites is not None:
            first = np.argwhere(wrong)[0]
            where = self.granules[first[0], first[1]]
            related = races.places[int(sites[where])]
            who = int(np.broadcast_to(key, wrong.shape)[first[0], first[1]]) & _WHO
            thread = who - 1 if 0 < who < _SEVERAL else None
        if self.good is not None:
            full = np.zeros(self.good.shape, bool)
            full[self.good] = rows
            rows = full
        at = self.at if self.good is None else None
        flags = rows if self.mask is not None else rows.reshape(self.frame.shape)
        if at is not None and self.mask is None:
            at = at.reshape(self.frame.shape)
        self.frame.batch.report(
            self.frame, kind, what, flags, self.mask, self.place, at, self.size, related, thread
        )
