"""Which threads run next, and who waits for whom.

While all threads of a batch are at the same block, it runs for the whole batch. Otherwise a block
runs for the threads that are at it, in a frame of their own, with the registers that it needs taken
out and those that it leaves put back. The first block in the order of `flow` goes first, so threads
that are apart meet where their ways do.

Fairness: after `PATIENCE` turns of a loop that asks for news and has none, it is passed over, so that
those it waits for come to run. Other loops have much longer: their threads shall meet where they
end. A batch in which all wait, or in which `batch.POLLS` looks at memory
have found nothing new, cannot go on: that is a deadlock.

Invariant: a thread is running, waiting at one gate, or done (its block is `self.done`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.ptx.batch import POLLS, Batch
from blockstep.interp.ptx.decode import TRASH, Code, End
from blockstep.interp.ptx.frame import LANES, Bits, Frame

PATIENCE = 32  # turns of a loop that looks at what others write
_PATIENT = PATIENCE << 11  # turns of any other loop
_NUMBERS = 16  # named barriers of a CTA


def execute(code: Code, frame: Frame) -> None:
    """Run the steps of a block. An error of ours gets the line as a note."""
    regs, at = frame.regs, 0
    runs = frame.batch.faults.runs
    runs[code.number] = runs.get(code.number, 0) + frame.size
    try:
        for run, dead in code.steps:
            run(frame)
            for slot in dead:
                regs[slot] = None
            at += 1
    except Exception as error:
        error.add_note(f"at {code.places[at]}")
        raise


class Scheduler:
    """Runs the threads of one batch to their ends."""

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
        self.own: set[int] = set()
        self.turns, self.floor = 0, 0
        self.told, self.polled = 0, 0
        self.last = (0, 0)  # asks and progress when a loop last turned

    def run(self) -> None:
        """Run every thread to its end. Raises Trap."""
        number, whole = 0, self.batch.whole
        while number < self.done:
            code = self.codes[number]
            execute(code, whole)
            following = self._following(code, whole, None)
            if not isinstance(following, int):
                following = self._apart(following)
            elif following <= number:
                self._check_progress(whole, code)
            number = following

    # after a block

    def _following(self, code: Code, frame: Frame, members: Bits | None) -> int | Bits:
        """The next block: of all threads, or of each of the frame."""
        end = code.end
        if end.kind == "fall":
            return end.next
        if end.kind == "jump":
            return end.targets[0]
        if end.kind == "barrier":
            return self._barrier(end, frame, members)
        if end.kind == "indexed":
            return self._indexed(end, frame)
        taken = self.done if end.kind == "exit" else end.targets[0]
        if end.guard is None:
            return taken
        holds = frame.regs[end.guard]
        count = np.count_nonzero(holds)
        if count in (0, holds.size):
            return taken if (count == holds.size) != end.negated else end.next
        return self._each(frame, np.where(holds != end.negated, taken, end.next))

    def _each(self, frame: Frame, x: Bits) -> Bits:
        return np.broadcast_to(x, frame.shape).reshape(-1).astype(np.int32)

    def _indexed(self, end: End, frame: Frame) -> int | Bits:
        slot = end.operands[0]
        assert slot is not None
        index = frame.regs[slot].astype(np.int64)
        targets = np.array(end.targets)
        if int(index.max()) >= targets.size:
            raise self.batch.trap(frame, "out-of-bounds", "index of brx.idx", None, end.place)
        found = targets[index]
        if end.guard is not None:
            found = np.where(frame.regs[end.guard] != end.negated, found, end.next)
        low, high = int(found.min()), int(found.max())
        return low if low == high else self._each(frame, found)

    def _check_progress(self, frame: Frame, code: Code) -> None:
        batch = self.batch
        if batch.progress != self.told:
            self.told, self.polled = batch.progress, batch.polls
        elif batch.polls - self.polled > POLLS:
            raise batch.trap(
                frame, "deadlock", "threads wait and nothing they wait for can come", None,
                code.end.place,
            )  # fmt: skip

    # threads that are apart

    def _apart(self, following: Bits) -> int:
        """Run threads that are at different blocks until all are at one again; gives that one."""
        self.pc[:] = following
        while True:
            running = (self.gate < 0) & (self.pc < self.done)
            where = np.where(running, self.pc, self.done)
            number = self._chosen(where)
            if number == self.done:
                if (self.gate >= 0).any():
                    self._stuck()
                return self.done
            members = np.flatnonzero(where == number)
            if members.size == self.total:
                self.own.clear()
                self.turns = self.floor = 0
                return number
            self._turn(number, members)

    def _chosen(self, where: Bits) -> int:
        if not self.floor:
            return int(where.min())
        allowed = where[where >= self.floor]
        number = int(allowed.min()) if allowed.size else self.done
        if number == self.done:
            self.floor = 0
            return int(where.min())
        return number

    def _turn(self, number: int, members: Bits) -> None:
        """Run a block for some threads."""
        code = self.codes[number]
        frame = self._frame(code, members)
        execute(code, frame)
        self._put_back(code, frame, members)
        following = self._following(code, frame, members)
        self.pc[members] = following
        low = following if isinstance(following, int) else int(following.min())
        if low <= number:
            self._check_progress(frame, code)
            self._count_turn(number)
        if (
            (following == self.done)
            if isinstance(following, int)
            else (following == self.done).any()
        ):
            self.batch.progress += 1
            self._reopen()

    def _count_turn(self, number: int) -> None:
        """A loop turned: if it waits for others, they come to run after a while."""
        seen = self.batch.asks, self.batch.progress
        waits = seen[0] != self.last[0] and seen[1] == self.last[1]
        self.last = seen
        self.turns += _PATIENT // PATIENCE if waits else 1
        if self.turns >= _PATIENT:
            self.turns, self.floor = 0, number + 1

    def _frame(self, code: Code, members: Bits) -> Frame:
        threads = self.threads
        heads = members[::threads]
        whole = (
            members.size % threads == 0
            and not bool((heads % threads).any())
            and bool((members[threads - 1 :: threads] == heads + threads - 1).all())
        )
        regs: list[Any] = [None] * len(self.batch.whole.regs)
        source = self.batch.whole.regs
        if whole:
            ctas = heads // threads
            for slot in code.needs:
                x = source[slot]
                regs[slot] = x if x is None or x.shape[0] == 1 else x[ctas]
            tid = np.arange(threads, dtype=np.int64)[None]
            return Frame(self.batch, regs, ctas[:, None], tid, False)
        cta, tid = np.divmod(members, threads)
        for slot in code.needs:
            regs[slot] = _picked(source[slot], cta, tid, members)
        return Frame(self.batch, regs, cta[None], tid[None], True)

    def _put_back(self, code: Code, frame: Frame, members: Bits) -> None:
        for slot in code.gives:
            value = frame.regs[slot]
            if value is not None:
                self._write(slot, members, np.broadcast_to(value, frame.shape).reshape(-1))

    def _write(self, slot: int, members: Bits, values: Bits) -> None:
        regs = self.batch.whole.regs
        if slot not in self.own:
            shape = self.batch.whole.shape
            old = regs[slot]
            regs[slot] = (
                np.zeros(shape, values.dtype) if old is None
                else np.array(np.broadcast_to(old, shape), order="C")
            )  # fmt: skip
            self.own.add(slot)
        regs[slot].reshape(-1)[members] = values

    # gates

    def _barrier(self, end: End, frame: Frame, members: Bits | None) -> int | Bits:
        """Threads come to a barrier: those that may go on, or all at a gate."""
        i = end.instruction
        assert i is not None
        if "warp" in i.modifiers:
            return self._warp_barrier(end, frame, members)
        if "cluster" in i.modifiers:
            return self._cluster_wait(end, frame, members)
        self._check_aligned(end, frame)
        number, count = (None if s is None else frame.regs[s] for s in end.operands[:2])
        full = count is None or (count.size == 1 and int(count.flat[0]) == self.threads)
        if members is None and full and not self.arrived and "red" not in i.modifiers:
            if number is None or number.size == 1:
                self._met(frame.cta[:, 0])
                return end.next
        which = members if members is not None else np.arange(self.total)
        cta = frame.full(frame.cta).reshape(-1)
        numbers = 0 if number is None else self._each(frame, number)
        self._arrive(end, frame, which, cta * _NUMBERS + numbers, count, True)
        return np.full(which.size, end.next, np.int32)

    def _check_aligned(self, end: End, frame: Frame) -> None:
        i = end.instruction
        assert i is not None
        aligned = i.opcode == "bar" or "aligned" in i.modifiers
        if not aligned or not frame.flat or frame.warps.present is None:
            return
        alive = (self.pc.reshape(self.batch.ctas, self.threads) < self.done)[frame.warps.cta]
        row = frame.warps.warp[:, None] * LANES + np.arange(LANES)
        there = np.take_along_axis(alive, np.minimum(row, self.threads - 1), 1)
        there &= row < self.threads
        missing = there & ~frame.warps.present
        if missing.any():
            self.batch.report(
                frame, "barrier", "a part of a warp at an aligned barrier",
                np.ones((1, 1), bool), None, end.place,
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
        counts = None if count is None else self._each(frame, count)
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
        cta = key // _NUMBERS
        wanted = self.expected.get(key)
        everybody = self._living(cta)
        if self.arrived[key] < (everybody if wanted is None else wanted):
            return
        self.gate[self.gate == key] = -1
        del self.arrived[key]
        self.expected.pop(key, None)
        for which, values, end in self._voted(key):
            if end.result != TRASH:
                self._write(end.result, which, values)
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

    def _reopen(self) -> None:
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

    def cluster_arrive(self, frame: Frame, mask: Any) -> None:
        """`barrier.cluster.arrive`: threads are counted for the barrier of their cluster."""
        which = frame.flat_index if mask is None else frame.flat_index[frame.full(mask).reshape(-1)]
        cluster = which // self.threads // self.batch.cluster
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
        key = self.batch.ctas * _NUMBERS + cluster
        self.gate[self.gate == key] = -1
        first = cluster * self.batch.cluster
        self._met(np.arange(first, min(first + self.batch.cluster, self.batch.ctas)))

    def _cluster_wait(self, end: End, frame: Frame, members: Bits | None) -> int | Bits:
        which = np.arange(self.total) if members is None else members
        cluster = which // self.threads // self.batch.cluster
        waits = self.cluster_target[which] > self.cluster_phase[cluster]
        if not waits.any():
            return end.next
        self.gate[which[waits]] = self.batch.ctas * _NUMBERS + cluster[waits]
        self.places.update(dict.fromkeys(self.gate[which[waits]].tolist(), end.place))
        return np.full(which.size, end.next, np.int32)

    def _stuck(self) -> None:
        """Every thread that is left waits."""
        first = int(np.argmax(self.gate >= 0))
        place = self.places[int(self.gate[first])]
        members = np.flatnonzero(self.gate >= 0)
        cta, tid = np.divmod(members, self.threads)
        frame = Frame(self.batch, self.batch.whole.regs, cta[None], tid[None], True)
        raise self.batch.trap(
            frame, "barrier", "a barrier that not all of its threads reach", None, place
        )


def _picked(x: Any, cta: Bits, tid: Bits, members: Bits) -> Any:
    """The elements of a register of a batch for some threads, as (1, threads)."""
    if x is None or x.size == 1:
        return x
    if x.shape[0] == 1:
        return x[:, tid]
    if x.shape[1] == 1:
        return x[cta, 0][None]
    return x.reshape(-1)[members][None]
