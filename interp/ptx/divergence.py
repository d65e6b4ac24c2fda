"""Which threads run next, and who waits for whom.

While all threads of a batch are at the same block, it runs for the whole batch. Otherwise a block
runs for the threads that are at it, in a frame of their own, with the registers that it needs taken
out and those that it leaves put back. The first block in the order of `flow` goes first, so threads
that are apart meet where their ways do.

Fairness: after `PATIENCE` turns of a loop that asks for news and has none, it is passed over, so that
those it waits for come to run. Other loops have much longer: their threads shall meet where they
end. A batch in which all wait, or in which `batch.POLLS` looks at memory
have found nothing new, cannot go on: that is a deadlock.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.ptx.batch import POLLS, Batch
from blockstep.interp.ptx.frame import Bits, Frame
from blockstep.interp.ptx.gates import Gates
from blockstep.interp.ptx.program import TRASH, Code, End

PATIENCE = 32  # turns of a loop that looks at what others write
_KNOWN = 1  # turns of one once a loop has looked so often in vain: thousands may wait for a lock
_PATIENT = PATIENCE << 11  # turns of any other loop


def execute(code: Code, frame: Frame) -> None:
    """Run the steps of a block. An error of ours gets the line as a note."""
    regs, at = frame.regs, 0
    report = frame.batch.faults
    report.instructions += code.count * frame.size
    report.runs[code.number] = report.runs.get(code.number, 0) + frame.size
    try:
        for run, dead in code.steps:
            run(frame)
            for slot in dead:
                regs[slot] = None
            at += 1
    except Exception as error:
        error.add_note(f"at {code.places[at]}")
        raise


class Scheduler(Gates):
    """Runs the threads of one batch to their ends."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(batch)
        self.turns, self.floor, self.patience = 0, 0, PATIENCE
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
            return self.barrier(end, frame, members)
        if end.kind == "indexed":
            return self._indexed(end, frame)
        taken = self.done if end.kind == "exit" else end.targets[0]
        if end.guard is None:
            return taken
        holds = frame.regs[end.guard]
        count = np.count_nonzero(holds)
        if count in (0, holds.size):
            return taken if (count == holds.size) != end.negated else end.next
        return self.each(frame, np.where(holds != end.negated, taken, end.next))

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
        return low if low == high else self.each(frame, found)

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
                    self.stuck()
                return self.done
            here = where == number
            members = np.flatnonzero(here)
            if members.size == self.total:
                self.own.clear()
                self.turns, self.floor, self.patience = 0, 0, PATIENCE
                return number
            limit = -1 if self.floor else int(np.where(here, self.done, where).min())
            self._turn(number, members, limit)

    def _chosen(self, where: Bits) -> int:
        if not self.floor:
            return int(where.min())
        allowed = where[where >= self.floor]
        number = int(allowed.min()) if allowed.size else self.done
        if number == self.done:
            self.floor = 0
            return int(where.min())
        return number

    def _turn(self, number: int, members: Bits, limit: int) -> None:
        """Run a block for some threads, and those behind it that come before the block `limit`,
        where the next threads are: as long as these stay together, in one frame."""
        code = self.codes[number]
        frame = self._frame(code, members)
        given: set[int] = set()
        while True:
            execute(code, frame)
            given.update(code.gives)
            stays = not (code.end.kind == "barrier" and code.end.result != TRASH)
            if not stays:
                self._put_back(given, frame, members)
                given.clear()
            following = self._following(code, frame, members)
            low = following if isinstance(following, int) else int(following.min())
            if low <= number:
                self._check_progress(frame, code)
                self._count_turn(number)
            if not (stays and isinstance(following, int) and following < limit) or self.floor:
                break
            number, code = following, self.codes[following]
            self._fetch(code, frame, members)
        self._put_back(given, frame, members)
        self.pc[members] = following
        if np.any(following == self.done):
            self.batch.progress += 1
            self.reopen()

    def _count_turn(self, number: int) -> None:
        """A loop turned: if it waits for others, they come to run after a while."""
        seen = self.batch.asks, self.batch.progress
        waits = seen[0] != self.last[0] and seen[1] == self.last[1]
        self.last = seen
        self.turns += _PATIENT // self.patience if waits else 1
        if self.turns >= _PATIENT:
            self.turns, self.floor = 0, number + 1
            self.patience = _KNOWN if waits else self.patience

    def _frame(self, code: Code, members: Bits) -> Frame:
        threads = self.threads
        heads = members[::threads]
        whole = (
            members.size % threads == 0
            and not bool((heads % threads).any())
            and bool((members[threads - 1 :: threads] == heads + threads - 1).all())
        )
        regs: list[Any] = [None] * len(self.batch.whole.regs)
        if whole:
            tid = np.arange(threads, dtype=np.int64)[None]
            frame = Frame(self.batch, regs, heads[:, None] // threads, tid, False)
        else:
            cta, tid = np.divmod(members, threads)
            frame = Frame(self.batch, regs, cta[None], tid[None], True)
        self._fetch(code, frame, members)
        return frame

    def _fetch(self, code: Code, frame: Frame, members: Bits) -> None:
        """What a block needs and the frame does not have yet."""
        regs, source, cta = frame.regs, self.batch.whole.regs, frame.cta
        for slot in code.needs:
            if regs[slot] is not None:
                continue
            x = source[slot]
            if frame.flat:
                regs[slot] = _picked(x, cta[0], frame.tid[0], members)
            else:
                regs[slot] = x if x is None or x.shape[0] == 1 else x[cta[:, 0]]

    def _put_back(self, slots: set[int], frame: Frame, members: Bits) -> None:
        for slot in slots:
            value = frame.regs[slot]
            if value is None:
                continue
            mine = self.owned(slot, value.dtype)
            if frame.flat:
                mine.reshape(-1)[members] = np.broadcast_to(value, frame.shape).reshape(-1)
            else:
                mine[frame.cta[:, 0]] = value


def _picked(x: Any, cta: Bits, tid: Bits, members: Bits) -> Any:
    """The elements of a register of a batch for some threads, as (1, threads)."""
    if x is None or x.size == 1:
        return x
    if x.shape[0] == 1:
        return x[:, tid]
    if x.shape[1] == 1:
        return x[cta, 0][None]
    return x.reshape(-1)[members][None]
