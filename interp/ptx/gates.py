"""Where every thread of a batch is, and the gates at which threads wait: barriers of CTAs, named
barriers, those of warps and of clusters.

Invariant: a thread is running, waiting at one gate, or done (its block is `self.done`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.ptx.batch import Batch
from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import LANES, Bits, Frame
from blockstep.interp.ptx.program import TRASH, End

NUMBERS = 16  # named barriers of a CTA


class Gates:
    """The places of the threads of one batch."""

    def __init__(self, batch: Batch) -> None:
        self.batch, self.codes = batch, batch.program.codes
        self.done = len(self.codes)
        self.threads = batch.threads
        self.total = batch.ctas * batch.threads
        self.pc = np.zeros(self.total, np.int32)
        self.gate = np.full(self.total, -1, np.int64)  # the gate where a thread waits
        self.arrived: dict[int, int] = {}
        self.expected: dict[int, int] = {}
        self.places: dict[int, Any] = {}
        self.votes: dict[int, list[tuple[Bits, Bits, End]]] = {}
        self.cluster_phase = np.zeros(-(-batch.ctas // batch.cluster), np.int64)
        self.cluster_target = np.zeros(self.total, np.int64)
        self.own: set[int] = set()  # registers of the batch whose arrays nobody else has

    def each(self, frame: Frame, x: Bits) -> Bits:
        return np.broadcast_to(x, frame.shape).reshape(-1).astype(np.int32)

    def owned(self, slot: int, kind: Any) -> Bits:
        """The array of a register of the batch, (CTAs, threads), to be written into."""
        regs = self.batch.whole.regs
        if slot not in self.own:
            shape = self.batch.whole.shape
            old = regs[slot]
            regs[slot] = (
                np.zeros(shape, kind) if old is None
                else np.array(np.broadcast_to(old, shape), order="C")
            )  # fmt: skip
            self.own.add(slot)
        found: Bits = regs[slot]
        return found

    def barrier(self, end: End, frame: Frame, members: Bits | None) -> int | Bits:
        """Threads come to a barrier: those that may go on, or all at a gate."""
        i = end.instruction
        assert i is not None
        if "warp" in i.modifiers:
            return self._warp_barrier(end, frame, members)
        if "cluster" in i.modifiers:
            if "aligned" in i.modifiers:
                self.check_aligned(frame, end.place)
            return self._cluster_wait(end, frame, members)
        if i.opcode == "bar" or "aligned" in i.modifiers:
            self.check_aligned(frame, end.place)
        number, count = (None if s is None else frame.regs[s] for s in end.operands[:2])
        full = count is None or (count.size == 1 and int(count.flat[0]) == self.threads)
        alike = full and (number is None or number.size == 1) and "red" not in i.modifiers
        if alike and not frame.flat and not self._awaited(frame.cta[:, 0]):
            self._met(frame.cta[:, 0])
            if self.batch.order is not None:
                self.batch.order.ctas_met(frame.cta[:, 0])
            return end.next
        which = members if members is not None else np.arange(self.total)
        cta = frame.full(frame.cta).reshape(-1)
        numbers = 0 if number is None else self.each(frame, number)
        self._arrive(end, frame, which, cta * NUMBERS + numbers, count, True)
        return np.full(which.size, end.next, np.int32)

    def _awaited(self, ctas: Bits) -> bool:
        """Whether threads of these CTAs are at a gate."""
        return any(key // NUMBERS in ctas for key in self.arrived)

    def check_aligned(self, frame: Frame, place: Place) -> None:
        """Tell of warps of which not all lanes that are left have come."""
        if not frame.flat or frame.warps.present is None:
            return
        alive = (self.pc.reshape(self.batch.ctas, self.threads) < self.done)[frame.warps.cta]
        row = frame.warps.warp[:, None] * LANES + np.arange(LANES)
        there = np.take_along_axis(alive, np.minimum(row, self.threads - 1), 1)
        there &= row < self.threads
        missing = there & ~frame.warps.present
        if missing.any():
            self.batch.report(
                frame, "barrier", "a part of a warp at an aligned barrier",
                np.ones((1, 1), bool), None, place,
            )  # fmt: skip

    def arrive(self, frame: Frame, keys: Bits, count: Bits | None, place: Any) -> None:
        """`bar.arrive`: threads are counted and go on."""
        end = End("barrier", place)
        which = frame.flat_index
        self._arrive(end, frame, which, keys, count, False)

    def _arrive(
        self, end: End, frame: Frame, which: Bits, keys: Bits, count: Bits | None, waits: bool
    ) -> None:
        if waits:
            self.gate[which] = keys
        if self.batch.order is not None:
            self.batch.order.barrier_reached(which, keys // NUMBERS, keys % NUMBERS)
        counts = None if count is None else self.each(frame, count)
        for key in np.unique(keys).tolist():
            here = keys == key
            self.arrived[key] = self.arrived.get(key, 0) + int(np.count_nonzero(here))
            if counts is not None:
                self.expected[key] = int(counts[here][0])
            self.places[key] = end.place
            if end.operands[2:] and end.operands[2] is not None:
                votes = np.broadcast_to(frame.regs[end.operands[2]], frame.shape).reshape(-1)
                self.votes.setdefault(key, []).append((which[here], votes[here], end))
            self._open(key)

    def _living(self, cta: int) -> int:
        row = self.pc[cta * self.threads : (cta + 1) * self.threads]
        return int(np.count_nonzero(row < self.done))

    def _open(self, key: int) -> None:
        """Let the threads of a gate go if all that it waits for have come."""
        cta = key // NUMBERS
        wanted = self.expected.get(key)
        everybody = self._living(cta)
        if self.arrived[key] < (everybody if wanted is None else wanted):
            return
        members = np.flatnonzero(self.gate == key)
        self.gate[members] = -1
        if self.batch.order is not None:
            self.batch.order.barrier_left(members, cta, key % NUMBERS)
        del self.arrived[key]
        self.expected.pop(key, None)
        for which, values, end in self._voted(key):
            if end.result != TRASH:
                self.owned(end.result, values.dtype).reshape(-1)[which] = values
        if wanted is None or wanted >= everybody:
            self._met(np.array([cta]))

    def _voted(self, key: int) -> list[tuple[Bits, Bits, End]]:
        votes = self.votes.pop(key, [])
        if not votes:
            return []
        everything = np.concatenate([v for _, v, _ in votes])
        found = []
        for which, mine, end in votes:
            assert end.instruction is not None
            modifiers = end.instruction.modifiers
            one: Any = np.uint32(np.count_nonzero(everything))
            if "and" in modifiers:
                one = everything.all()
            elif "or" in modifiers:
                one = everything.any()
            found.append((which, np.full(mine.size, one), end))
        return found

    def _met(self, ctas: Bits) -> None:
        for watcher in self.batch.watchers:
            watcher.barrier(self.batch, ctas)

    def reopen(self) -> None:
        """Threads have ended: gates that waited for all living ones may open."""
        for key in list(self.arrived):
            if key not in self.expected:
                self._open(key)
        if self.batch.cluster > 1:
            for cluster in range(self.cluster_phase.size):
                self._cluster_open(cluster)

    def _warp_barrier(self, end: End, frame: Frame, members: Bits | None) -> int | Bits:
        warps = frame.warps
        for watcher in self.batch.watchers:
            watcher.warp_barrier(self.batch, warps.cta, warps.warp)
        if self.batch.order is not None:
            self.batch.order.warps_met(frame)
        slot = end.operands[0]
        assert slot is not None
        wanted = warps.to(frame.regs[slot])
        present = np.ones(wanted.shape, bool) if warps.present is None else warps.present
        asked = np.where(present, wanted, 0).max(axis=1, keepdims=True)
        named = (asked >> np.arange(LANES, dtype=asked.dtype)) & asked.dtype.type(1) != 0
        row = warps.warp[:, None] * LANES + np.arange(LANES)
        index = warps.cta[:, None] * self.threads + np.minimum(row, self.threads - 1)
        alive = (self.pc[index] < self.done) & (row < self.threads)
        if members is None or not (named & alive & ~present).any():
            return end.next
        raise self.batch.trap(
            frame, "barrier", "lanes that bar.warp.sync names are elsewhere", None, end.place
        )

    def cluster_arrive(self, frame: Frame, mask: Any, relaxed: bool = False) -> None:
        """`barrier.cluster.arrive`: threads are counted for the barrier of their cluster; if it is
        `relaxed`, they release nothing."""
        which = frame.flat_index if mask is None else frame.flat_index[frame.full(mask).reshape(-1)]
        cluster = which // self.threads // self.batch.cluster
        if self.batch.order is not None and not relaxed:
            self.batch.order.cluster_reached(which, cluster)
        self.cluster_target[which] = self.cluster_phase[cluster] + 1
        self.batch.progress += 1
        for one in np.unique(cluster).tolist():
            self._cluster_open(one)

    def _cluster_open(self, cluster: int) -> None:
        span = self.threads * self.batch.cluster
        rows = slice(cluster * span, (cluster + 1) * span)
        ready = self.cluster_target[rows] > self.cluster_phase[cluster]
        if not ready.any() or not (ready | (self.pc[rows] >= self.done)).all():
            return
        self.cluster_phase[cluster] += 1
        key = self.batch.ctas * NUMBERS + cluster
        members = np.flatnonzero(self.gate == key)
        self.gate[members] = -1
        first = cluster * self.batch.cluster
        if self.batch.order is not None:
            self.batch.order.cluster_ended(cluster)
            self.batch.order.cluster_left(members, np.full(members.size, cluster))
        self._met(np.arange(first, min(first + self.batch.cluster, self.batch.ctas)))

    def _cluster_wait(self, end: End, frame: Frame, members: Bits | None) -> int | Bits:
        which = np.arange(self.total) if members is None else members
        cluster = which // self.threads // self.batch.cluster
        waits = self.cluster_target[which] > self.cluster_phase[cluster]
        if self.batch.order is not None:
            self.batch.order.cluster_left(which[~waits], cluster[~waits])
        if not waits.any():
            return end.next
        self.gate[which[waits]] = self.batch.ctas * NUMBERS + cluster[waits]
        self.places.update(dict.fromkeys(self.gate[which[waits]].tolist(), end.place))
        return np.full(which.size, end.next, np.int32)

    def stuck(self) -> None:
        """Every thread that is left waits."""
        first = int(np.argmax(self.gate >= 0))
        place = self.places[int(self.gate[first])]
        members = np.flatnonzero(self.gate >= 0)
        cta, tid = np.divmod(members, self.threads)
        frame = Frame(self.batch, self.batch.whole.regs, cta[None], tid[None], True)
        raise self.batch.trap(
            frame, "barrier", "a barrier that not all of its threads reach", None, place
        )
