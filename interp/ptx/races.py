"""Races and unwritten bytes in shared memory, for kernels whose threads meet at barriers of a CTA.

Between two barriers (an *epoch*) nothing orders the threads of a CTA, but lanes of a warp that meet
at `bar.warp.sync`. Each granule of shared memory keeps who wrote it last and who read it last as
one number: epoch, warp epoch, thread. Two accesses race when one writes, both are of the
same epoch, and they are of different threads that no warp barrier orders.

An asynchronous copy writes when its thread has waited for its group; others may read after the next
barrier. Where threads are ordered otherwise (mbarriers, named barriers, clusters), races are not
judged (`ordered`): what is unwritten, and what is not waited for, still is.

Invariant: a granule is no wider than any access of the kernel, so that an access covers granules.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import LANES, Bits, Flags, Frame, Mask
from blockstep.interp.ptx.judging.fences import Fences
from blockstep.interp.ptx.judging.look import Look

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
_COPIES, _PRODUCTS = "copy groups", "products"  # of the batch's state
_NEVER = np.zeros((1, 1), bool)


class SharedRaces:
    """A watcher of shared memory."""

    def __init__(self, program: Program) -> None:
        self.granule = program.granule
        self.fences: Fences | None = None
        self.products = program.products
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
        self.atomics = False
        self.atom = np.zeros(count, np.int64)  # the last atomic, kept as a reader is
        self.atom_at = np.zeros(count, np.int32)
        self.epoch = np.ones((batch.ctas, 1), np.int64)
        self.least_epoch = 1
        # For each CTA up to which group all its threads have waited, and met at a barrier since.
        self.settled = {name: np.zeros(batch.ctas, np.int64) for name in (_COPIES, _PRODUCTS)}
        self.warp_epoch = np.zeros((batch.ctas, -(-batch.threads // LANES)), np.int64)
        self.copies = False
        self.product = np.zeros(count, np.int64)  # group << 12 | 1 + warpgroup of a wgmma
        self.product_at = np.zeros(count, np.int32)
        self.fences = Fences(batch.ctas, batch.threads, count) if self.products else None
        batch.state["races"] = self

    def end(self, batch: Batch) -> None:
        return None

    def barrier(self, batch: Batch, ctas: Bits) -> None:
        self.epoch[ctas] += 1
        self.least_epoch = int(self.epoch.min())
        for name, settled in self.settled.items():
            groups = batch.state.get(name)
            if groups is not None:
                settled[ctas] = groups.done[ctas].min(axis=1)

    def warp_barrier(self, batch: Batch, cta: Bits, warp: Bits) -> None:
        self.warp_epoch[cta, warp] += 1

    def access(
        self, frame: Frame, kind: str, space: str, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None, values: Any,
    ) -> None:  # fmt: skip
        if space != "shared" or at.size == 0:
            return
        if kind == "read" and mask is None and good is None:
            if self._all_read(frame, at, size, place):
                return
        look = _Look(self, frame, at, size, mask, place, good)
        if not look.granules.size:
            return
        if kind == "read":
            self._read(look)
        elif kind == "write":
            self._write(look, values)
        elif kind == "product":
            self._product(look)
        elif kind == "atomic":
            self._atomic(look)
        else:
            self._copy(look)

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
        if self.atomics and (self.atom[granules] >> _EPOCH == epoch).any():
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

    def fence(self, frame: Frame, mask: Mask) -> None:
        """`fence.proxy.async` by some threads."""
        if self.fences is not None:
            cta, tid = frame.active(frame.cta, mask), frame.active(frame.tid, mask)
            self.fences.fence(cta, tid, self.epoch[cta, 0])

    # what is told

    def _check_read(self, look: _Look) -> Bits:
        """Gives who has written before."""
        before = self.writer[look.granules]
        if not int(before.min()):
            missing = (before == 0) & (look.copier == 0)
            look.tell_if(missing, "uninitialised", "shared memory")
        look.tell_if(
            look.races(before), "race", "read of what another thread writes", before, self.wrote_at
        )
        self._check_atomics(look, "read")
        self._check_copies(look, "read of a copy that was not waited for")
        return before

    def _read(self, look: _Look) -> None:
        self._check_read(look)
        self._note_together(look, self.reader, self.read_at)

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
        self._check_atomics(look, "write")
        self._check_copies(look, "write of a copy that was not waited for")
        self._check_products(look, "write")
        self._note_writers(look, bits)

    def _atomic(self, look: _Look) -> None:
        """Atomics do not race with each other."""
        self._check_copies(look, "atomic on a copy that was not waited for")
        self._check_products(look, "atomic")
        before, read = self.writer[look.granules], self.reader[look.granules]
        look.tell_if(before == 0, "uninitialised", "shared memory")
        look.tell_if(
            look.races(before), "race", "atomic on what another thread writes", before,
            self.wrote_at,
        )  # fmt: skip
        look.tell_if(
            look.races(read), "race", "atomic on what another thread reads", read, self.read_at
        )
        self.atomics = True
        self._note_together(look, self.atom, self.atom_at)

    def _check_atomics(self, look: _Look, what: str) -> None:
        if self.atomics:
            before = self.atom[look.granules]
            told = f"{what} of what another thread's atomic changes"
            look.tell_if(look.races(before), "race", told, before, self.atom_at)

    def _copy(self, look: _Look) -> None:
        before, read = self.writer[look.granules], self.reader[look.granules]
        look.tell_if(
            look.races(before), "race", "copy over what another thread writes", before,
            self.wrote_at,
        )  # fmt: skip
        look.tell_if(
            look.races(read), "race", "copy over what another thread reads", read, self.read_at
        )
        self._check_copies(look, "copy over a copy that was not waited for")
        self._check_products(look, "copy")
        groups = look.frame.batch.state["copy groups"]
        group = groups.committed[look.cta, look.tid] + 1
        self.copies = True
        self.copier[look.granules] = (group << _WARP) | (look.tid + 1)
        self.writer[look.granules] = 0
        self.wrote_at[look.granules] = look.site

    def _product(self, look: _Look) -> None:
        """a wgmma reads until its group is waited for."""
        before = self._check_read(look)
        if before.any():
            self._check_fences(look, before)
        groups = look.frame.batch.state["products"]
        warpgroup = look.tid // WARPGROUP
        group = groups.committed[look.cta, warpgroup] + 1
        self.product[look.granules] = (group << _WARP) | (warpgroup + 1)
        self.product_at[look.granules] = look.site

    def _check_fences(self, look: _Look, key: Bits) -> None:
        assert self.fences is not None
        wrong = self.fences.missing(
            look.granules, look.cta, look.tid, np.maximum((key & _WHO) - 1, 0), key >> _EPOCH,
            self.epoch[look.cta, 0],
        )  # fmt: skip
        wrong &= key != 0
        look.tell_if(
            wrong, "async", "a wgmma reads what a thread wrote, unfenced", key & _WHO,
            self.wrote_at,
        )  # fmt: skip

    def _check_products(self, look: _Look, what: str) -> None:
        groups = look.frame.batch.state.get("products")
        if groups is None:
            return
        key = self.product[look.granules]
        if self._over(_PRODUCTS, key):
            return
        owner, group = np.maximum((key & _WHO) - 1, 0), key >> _WARP
        flying = (key != 0) & (group > groups.done[look.cta, owner])
        self._tell_product(look, flying, "async", f"{what} of what a wgmma still reads")
        ended = groups.ended[look.cta, owner, group % KEPT] == self.epoch[look.cta, 0]
        early = (key != 0) & ~flying & ended & (owner != look.tid // WARPGROUP)
        self._tell_product(look, early, "race", f"{what} of what another warpgroup's wgmma reads")

    def _tell_product(self, look: _Look, wrong: Flags, kind: str, what: str) -> None:
        look.tell_if(wrong, kind, what, np.zeros((1, 1), np.int64), self.product_at)

    def _check_copies(self, look: _Look, what: str) -> None:
        if not self.copies:
            return
        key = look.copier
        if self._over(_COPIES, key):
            return
        groups = look.frame.batch.state["copy groups"]
        owner, group = np.maximum((key & _WHO) - 1, 0), key >> _WARP
        flying = (key != 0) & (group > groups.done[look.cta, owner])
        look.tell_if(flying, "async", what, key & _WHO, self.wrote_at)
        ended = groups.ended[look.cta, owner, group % KEPT]
        early = (key != 0) & ~flying & (owner != look.tid) & (ended == self.epoch[look.cta, 0])
        early &= ~look.met_since(groups, owner, group)
        look.tell_if(early, "race", f"{what} behind a barrier", key & _WHO, self.wrote_at)

    def _over(self, name: str, key: Bits) -> bool:
        """Whether all groups are so long over that every thread knows it."""
        most = int(key.max()) >> _WARP
        return most == 0 or most <= int(self.settled[name].min())

    # what is kept

    def _note_writers(self, look: _Look, bits: Bits) -> None:
        granules = look.granules
        self.writer[granules] = np.broadcast_to(look.key, granules.shape)
        if self.fences is not None:
            self.fences.wrote(granules)
        self.copier[granules] = 0
        self.wrote_at[granules] = look.site
        other = self.writer[granules]
        twice = other != look.key
        if twice.any():
            last = np.zeros(self.writer.size, bits.dtype)
            last[granules] = bits
            twice &= last[granules] != bits
            look.tell_if(twice, "race", "two threads write here at once", other, self.wrote_at)

    def _note_together(self, look: _Look, kept: Bits, sites: Bits) -> None:
        """Threads that may do this at once: readers, or atomics."""
        granules, key = look.granules, np.broadcast_to(look.key, look.granules.shape)
        before = kept[granules]
        kept[granules] = key
        now = kept[granules]
        sites[granules] = look.site
        for other in (before, now):
            same = (other >> _EPOCH) == (key >> _EPOCH)
            differs = same & ((other & _WHO) != (key & _WHO)) & ~look.ordered_by_warp(other)
            if differs.any():
                self._note_several(kept, granules, key, other, differs)

    def _note_several(
        self, kept: Bits, granules: Bits, key: Bits, other: Bits, differs: Flags
    ) -> None:
        mine, theirs = _warp_of(key[differs] & _WHO), _warp_of(other[differs] & _WHO)
        at = granules[differs]
        base = key[differs] & ~np.int64(_WHO)
        near = mine == theirs
        kept[at[near]] = base[near] | (_SEVERAL + mine[near])
        kept[at[~near]] = base[~near] | _MANY


def _warp_of(who: Bits) -> Bits:
    """The warp of a key's last part; -1 for many."""
    found = np.where(who >= _SEVERAL, who - _SEVERAL, (who - 1) // LANES)
    return np.where(who == _MANY, -1, found)


class _Look(Look):
    """With the key of each lane, and the number of its place."""

    def __init__(
        self, races: SharedRaces, frame: Frame, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None,
    ) -> None:  # fmt: skip
        super().__init__(races.granule, frame, at, size, mask, place, good)
        self.races_of = races
        self.site = races.number(place)

    @cached_property
    def key(self) -> Bits:
        """Epoch, warp epoch and thread of each lane."""
        epoch = self.races_of.epoch[self.cta, 0]
        found: Bits = (epoch << _EPOCH) | (self.warp_epoch << _WARP) | (self.tid + 1)
        return found

    @cached_property
    def warp_epoch(self) -> Bits:
        """The epoch of each lane's warp."""
        found: Bits = self.races_of.warp_epoch[self.cta, self.tid // LANES]
        return found

    @cached_property
    def copier(self) -> Bits:
        """Who has copied here before."""
        found: Bits = self.races_of.copier[self.granules]
        return found

    def races(self, before: Bits) -> Flags:
        """Where an earlier access by key is of another thread, and nothing orders the two."""
        if int(before.max()) >> _EPOCH < self.races_of.least_epoch:
            return _NEVER
        same_epoch: Flags = (before >> _EPOCH) == (self.key >> _EPOCH)
        if not same_epoch.any():
            return same_epoch
        who = before & _WHO
        other: Flags = same_epoch & (who != self.tid + 1)
        if not other.any():
            return other
        found: Flags = other & ~self.ordered_by_warp(before)
        return found

    def ordered_by_warp(self, before: Bits) -> Flags:
        """Whether a warp barrier stands between an access by key, of this warp, and this one."""
        same_warp = _warp_of(before & _WHO) == self.tid // LANES
        earlier = ((before >> _WARP) & ((1 << (_EPOCH - _WARP)) - 1)) < self.warp_epoch
        ordered: Flags = same_warp & earlier
        return ordered

    def met_since(self, groups: Any, owner: Bits, group: Bits) -> Flags:
        """Whether a warp barrier stands between a thread of this warp, which waited for a group of
        copies, and this access."""
        same_warp = owner // LANES == self.tid // LANES
        met: Flags = same_warp & (groups.met[self.cta, owner, group % KEPT] < self.warp_epoch)
        return met

    def tell_if(
        self, wrong: Flags, kind: str, what: str, key: Bits | None = None, sites: Bits | None = None
    ) -> None:
        """Report the lanes with a granule where something is wrong."""
        if not wrong.any():
            return
        related, thread = None, None
        if key is not None and sites is not None:
            first = np.argwhere(wrong)[0]
            where = self.granules[first[0], first[1]]
            related = self.races_of.places[int(sites[where])]
            who = int(np.broadcast_to(key, wrong.shape)[first[0], first[1]]) & _WHO
            thread = who - 1 if 0 < who < _SEVERAL else None
        self.tell(wrong, kind, what, related, thread)
