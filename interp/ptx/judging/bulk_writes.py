"""What the copy engine writes to global memory, on its own: the kind `async`.

A bulk copy out of shared memory may write until the thread that started it has waited for its group:
without `.read`, which waits for shared memory alone. Other threads of the CTA know so behind the next
barrier. Before that nobody may touch the memory, nor may another bulk copy write there, unless both
combine with it in the same way. And what lanes wrote there is ahead of the engine only behind a full
`fence.proxy.async`: by the lane that wrote, or by any thread behind a barrier.

Not seen: accesses of other CTAs (the source's business); and where mbarriers, named barriers or clusters
order threads, whether they know of a wait or a fence (a copy that nobody has waited for is seen). Of
storages of more than `FOLLOWED` bytes no fence is missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.interp.ptx.batch import Batch, Watcher
from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import LANES, Bits, Flags, Frame, Mask

FOLLOWED = 1 << 24
_WHO = (1 << 32) - 1
_NAME = "bulk writes"


@dataclass(slots=True, eq=False)
class _Write:
    """What one thread has the engine write: in the bytes `low` to `high`, sorted, of one group.
    `waited`: the epochs of its CTA and warp in which it waited."""

    tid: int
    group: int
    low: Bits
    high: Bits
    how: str
    place: Place
    waited: tuple[int, int] | None = None

    def touches(self, low: Bits, high: Bits) -> Flags:
        """Which of some ranges of bytes meet it."""
        at = np.searchsorted(self.high, low, "right")
        found: Flags = (at < self.high.size) & (self.low[at % self.low.size] < high)
        return found


class BulkWrites(Watcher):
    """A watcher of global memory, for kernels in which the copy engine writes to it."""

    def begin(self, batch: Batch) -> None:
        batch.state[_NAME] = self
        self.batch = batch
        self.by_barriers = not batch.program.partial_barriers and batch.cluster == 1
        self.pending: dict[int, list[_Write]] = {}  # by CTA
        self.low, self.high = 1 << 62, 0  # bytes that pending writes lie between
        self.now = 1  # a count of writes, fences and barriers
        self.epoch = np.zeros(batch.ctas, np.int64)
        self.warp_epoch = np.zeros((batch.ctas, -(-batch.threads // LANES)), np.int64)
        self.fenced = np.zeros(batch.ctas * batch.threads, np.int64)
        self.met = np.zeros(batch.ctas, np.int64)  # when, at a barrier
        self.sealed = np.zeros(batch.ctas, np.int64)  # when, at the last barrier before a fence
        self.shadows: dict[
            int, Any
        ] = {}  # by base of a storage: when a byte was written, and by whom
        self.busy = False

    @staticmethod
    @contextmanager
    def told(
        frame: Frame, address: Bits, inside: Bits, size: int, how: str, place: Place
    ) -> Iterator[None]:
        """The engine writes elements of `size` bytes for the threads of a frame, where `inside`
        says; `how` they are combined with memory, if they are."""
        self: BulkWrites | None = frame.batch.state.get(_NAME)
        if self is None:
            yield
            return
        self._engine(frame, address, inside, size, how, place)
        self.busy = True
        try:
            yield
        finally:
            self.busy = False

    # what threads do

    def barrier(self, batch: Batch, ctas: Bits) -> None:
        self.now += 1
        self.epoch[ctas] += 1
        self.met[ctas] = self.now
        for cta in ctas.tolist():
            self._forget(cta)

    def warp_barrier(self, batch: Batch, cta: Bits, warp: Bits) -> None:
        self.warp_epoch[cta, warp] += 1
        if batch.threads <= LANES:
            self.barrier(batch, np.unique(cta))

    def fence(self, frame: Frame, mask: Mask) -> None:
        """A `fence.proxy.async` that is not of shared memory alone."""
        self.now += 1
        self.fenced[frame.active(frame.flat_index.reshape(frame.shape), mask)] = self.now
        ctas = np.unique(frame.active(frame.cta, mask))
        self.sealed[ctas] = self.met[ctas]

    def waited(self, cta: Bits, tid: Bits, groups: Bits) -> None:
        """Threads have waited until what their groups up to some write is written."""
        for c, t, group in zip(cta.tolist(), tid.tolist(), groups.tolist(), strict=True):
            for one in self.pending.get(c, ()):
                if one.tid == t and one.group <= group and one.waited is None:
                    one.waited = int(self.epoch[c]), int(self.warp_epoch[c, t // LANES])
            if not self.by_barriers:
                self._forget(c)

    def _forget(self, cta: int) -> None:
        """All threads know of what was waited for."""
        left = [one for one in self.pending.get(cta, ()) if one.waited is None]
        if left:
            self.pending[cta] = left
        else:
            self.pending.pop(cta, None)
        if not self.pending:
            self.low, self.high = 1 << 62, 0

    def access(
        self, frame: Frame, kind: str, space: str, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None, values: Any,
    ) -> None:  # fmt: skip
        """Judges one instruction of lanes, or a copy that reads."""
        if space != "global" or self.busy or at.size == 0:
            return
        flat = at if mask is not None else np.broadcast_to(at, frame.shape)
        flat = flat.reshape(-1).astype(np.int64)
        if self.pending and int(flat.min()) < self.high and int(flat.max()) + size > self.low:
            verb = "a read of" if kind == "read" else "a write to"
            wrong = self._wrong(frame, mask, flat, flat + size, "")
            self._tell(frame, f"{verb} global memory that a bulk copy", wrong, mask, place)
        if kind != "read" and self.by_barriers:
            self._note(frame, flat, size, mask)

    # what the engine does

    def _engine(
        self, frame: Frame, address: Bits, inside: Bits, size: int, how: str, place: Place
    ) -> None:
        if not inside.any():
            return
        flat = address[inside].astype(np.int64)
        wrong = self._wrong(frame, inside, flat, flat + size, how)
        self._tell(frame, "a bulk copy to global memory that another", wrong, inside, place)
        if self.by_barriers:
            self._check_fenced(frame, flat, size, inside, place)
        groups = self.batch.state["bulk copies"]
        cta, tid = frame.active(frame.cta, inside), frame.active(frame.tid, inside)
        for c, t in np.unique(np.stack([cta, tid], axis=1), axis=0).tolist():
            low, high = _runs(np.unique(flat[(cta == c) & (tid == t)]), size)
            group = int(groups.committed[c, t]) + 1
            self.pending.setdefault(c, []).append(_Write(t, group, low, high, how, place))
            self.low, self.high = min(self.low, int(low[0])), max(self.high, int(high[-1]))

    def _wrong(
        self, frame: Frame, mask: Mask, low: Bits, high: Bits, how: str
    ) -> tuple[Flags, Place | None, bool]:
        """Which lanes touch what the engine may still be writing for their CTA, where that was
        started, and whether it was waited for."""
        cta, tid = frame.active(frame.cta, mask).reshape(-1), frame.active(frame.tid, mask)
        tid = tid.reshape(-1)
        found, related, known = np.zeros(low.shape, bool), None, False
        for c in np.intersect1d(cta, list(self.pending)).tolist():
            for one in self.pending[c]:
                if how and how == one.how:
                    continue
                meets = (cta == c) & one.touches(low, high)
                if one.waited is not None:
                    meets &= self._unaware(one, c, tid)
                if meets.any() and related is None:
                    related, known = one.place, one.waited is not None
                found |= meets
        return found, related, known

    def _unaware(self, one: _Write, cta: int, tid: Bits) -> Flags:
        """Which threads do not know yet of a wait."""
        assert one.waited is not None
        warp = one.tid // LANES
        later = int(self.warp_epoch[cta, warp]) > one.waited[1]
        found: Flags = (tid != one.tid) & ~((tid // LANES == warp) & later)
        return found

    def _tell(
        self, frame: Frame, what: str, wrong: tuple[Flags, Place | None, bool], mask: Mask,
        place: Place,
    ) -> None:  # fmt: skip
        rows, related, known = wrong
        if not rows.any():
            return
        why = "no barrier is behind the wait for it" if known else "nothing has waited for it"
        flags = rows if mask is not None else rows.reshape(frame.shape)
        told = f"{what} writes, and {why}"
        self.batch.report(frame, "async", told, flags, mask, place, None, 0, related)

    # fences

    def _shadow(self, low: int, high: int) -> tuple[Any, int] | None:
        """When and by whom the bytes of a storage were written, and where it begins."""
        storage = self.batch.memory.storage_at(low)
        if storage is None or high > storage.end or storage.nbytes > FOLLOWED:
            return None
        found = self.shadows.get(storage.base)
        if found is None:
            found = self.shadows[storage.base] = np.zeros(storage.nbytes, np.int64)
        return found, storage.base

    def _note(self, frame: Frame, flat: Bits, size: int, mask: Mask) -> None:
        shadow = self._shadow(int(flat.min()), int(flat.max()) + size)
        if shadow is None:
            return
        self.now += 1
        who = frame.active(frame.flat_index.reshape(frame.shape), mask).reshape(-1)
        keys, base = shadow
        for byte in range(size):
            keys[flat - base + byte] = self.now << 32 | who

    def _check_fenced(
        self, frame: Frame, flat: Bits, size: int, inside: Bits, place: Place
    ) -> None:
        shadow = self._shadow(int(flat.min()), int(flat.max()) + size)
        if shadow is None:
            return
        keys, base = shadow
        at = (flat - base)[:, None] + np.arange(size)
        when, who = keys[at] >> 32, keys[at] & _WHO
        cta = frame.active(frame.cta, inside)[:, None]
        same = (when > 0) & (who // self.batch.threads == cta)
        missing = same & (self.fenced[who] < when) & (self.sealed[cta] < when)
        keys[at] = 0
        rows = missing.any(axis=1)
        if rows.any():
            what = "a bulk copy over unfenced global memory, which lanes wrote"
            self.batch.report(frame, "async", what, rows, inside, place)


def _runs(sorted_: Bits, size: int) -> tuple[Bits, Bits]:
    """Elements of `size` bytes at these addresses as ranges of bytes."""
    new = np.flatnonzero(np.diff(sorted_) != size) + 1
    first, last = np.r_[0, new], np.r_[new - 1, sorted_.size - 1]
    return sorted_[first], sorted_[last] + size


__all__ = ["BulkWrites"]
