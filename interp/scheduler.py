"""In what order the program instances of one launch run, and what a waiting one does.

Invariant: an instance runs to completion on the stack of the caller of `Scheduler.run`. Only one
that *waits* (it repeats an access that changes nothing and sees nothing new) gives way. It stays
parked where it is, on its own greenlet or on the caller's, and the loop goes on elsewhere: first
the instances that have not begun, then the parked ones in turn. So a launch in which nobody waits
never leaves the caller's stack, and a debugger sees one plain call chain.

The order is the seed's: `program_order` is a bijection that the grid machine shares. When every
unfinished instance has looked again and neither memory nor any local variable has changed, no
order of steps can help: that is a `Deadlock`. A spin that counts its turns is given up only after
`PATIENCE` looks, since it may end by itself.

Not here: what an access means, and who reports a deadlock (the launch turns it into a finding).
Source: CUDA programming guide, "Forward progress guarantees"; the round functions are splitmix64.
"""

import contextvars
import sys
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from greenlet import GreenletExit, getcurrent, greenlet

from blockstep.interp.spin import Spin, fingerprint

Program = tuple[int, int, int]
Instance = Callable[[Program], object]
Ids = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Words = np.ndarray[tuple[int, ...], np.dtype[np.uint64]]

OFTEN = 64  # plain loads of one address at one site before anything about them is looked at
MANY = 4096  # accesses of one address at one site before an instance gives way in any case
CROWD = 64  # so many are parked at most on account of MANY alone
PATIENCE = 20_000  # looks without any change before a spin that counts is given up
_SORTED_UP_TO = 1 << 16  # larger launches are permuted by arithmetic, never listed
_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Waiting:
    """One program instance that waits, and for what."""

    program: Program
    site: Hashable
    op: str
    address: int


class Deadlock(RuntimeError):
    """Every unfinished program instance waits; `certain` is False when one of them still counts."""

    def __init__(self, waiting: Sequence[Waiting], certain: bool) -> None:
        self.waiting = tuple(waiting)
        self.certain = certain
        who = ", ".join(str(w.program) for w in self.waiting[:4])
        more = ", ..." if len(self.waiting) > 4 else ""
        super().__init__(
            f"every unfinished program instance waits: {who}{more}; `blockstep check` says for what"
        )


@dataclass(slots=True)
class _Parked:
    """An instance that waits on `stack`; `version` and `state` are those of its last look."""

    stack: greenlet
    waiting: Waiting
    spin: Spin


class Scheduler:
    """Runs each program instance of one launch once. The machine reports accesses to it.

    `program` is the instance that runs now, and after an exception the one that raised it.
    `version` counts changes of memory. Once `precise` is true, `changed` must only be called for
    a write that alters a byte; before that it may be called for each write.
    """

    def __init__(
        self,
        grid: Program,
        *,
        seed: int = 0,
        only: Iterable[Program] | None = None,
        limit: int | None = None,
        order: Sequence[Program] | None = None,
    ) -> None:
        self.grid = grid
        self.seed = seed
        self.program: Program = (0, 0, 0)
        self.version = 0
        self.precise = False
        self.finished = 0
        self.total, self._fresh = _programs(grid, seed, only, limit)
        if order is not None:  # exactly these, one after the other
            self.total, self._fresh = len(order), iter(order)
        self._spin = Spin()
        self._parked: deque[_Parked] = deque()
        self._hub: greenlet | None = None
        self._stuck = 0  # looks in a row by instances whose own state did not change either
        self._quiet = 0  # looks in a row without a change of memory
        self._quiet_since = 0
        self._failure: BaseException | None = None
        self._unwinding = False
        self._trace: Any = None

    def run(self, instance: Instance) -> None:
        """Run all instances; an exception in one of them leaves here as itself."""
        self._instance = instance
        self._host = sys._getframe()
        self._main = getcurrent()
        try:
            self._begin_fresh()
            if self._parked:
                _switch(self._parked.popleft().stack)
        except GreenletExit:
            if self._failure is None:
                raise
        finally:
            self._unwind()
            del self._host
        failure, self._failure = self._failure, None
        if failure is not None:
            try:
                raise failure
            finally:
                del failure

    # What the machine reports.

    def changed(self) -> None:
        """The running instance altered memory: whatever it repeated may now come out otherwise."""
        self.version += 1
        if self._spin.atomics or self._spin.loads:
            self._spin.forget()

    def note_event(
        self, site: Hashable, progress: bool, seen: Hashable, op: str = "atomic", address: int = 0
    ) -> None:
        """An atomic or a volatile load ran at `site`; `progress` says whether it altered memory.

        `seen` is what decides what comes next: addresses, operands and old values. Seeing the
        same at the same site again, with no change by this instance between, is waiting.
        """
        if progress:
            self.changed()
            return
        self.precise = True
        spins = self._spin.repeats(site, seen)
        if self._spin.turn(site, address) % MANY == 0 or spins:
            self._wait(Waiting(self.program, site, op, address), spins)

    def note_load(
        self, site: Hashable, seen: Callable[[], Hashable], op: str = "load", address: int = 0
    ) -> None:
        """A plain load ran at `site`, its first element at `address`.

        `seen` (as in `note_event`) is asked only once the site has met the same address
        suspiciously often. Loading an unchanging value in a loop is ordinary work: it counts as
        waiting only when the local variables of the kernel repeat as well.
        """
        turn = self._spin.turn(site, address)
        if turn <= OFTEN:
            return
        self.precise = True
        spins = self._spin.load_repeats(site, seen(), lambda: fingerprint(sys._getframe(2)))
        if turn % MANY == 0 or spins:
            self._wait(Waiting(self.program, site, op, address), spins)

    # The loop. It runs on the caller's stack until an instance waits, then on another greenlet.

    def _begin_fresh(self) -> None:
        instance = self._instance
        for program in self._fresh:
            self.program = program
            if self._spin:
                self._spin = Spin()
            instance(program)
            self.finished += 1

    def _continue(self, program: Program, host: object) -> None:
        """Entry of a greenlet: begin `program` and go on with the loop. `host` is for debuggers."""
        me = getcurrent()
        try:
            self.program, self._spin = program, Spin()
            self._instance(program)
            self.finished += 1
            self._begin_fresh()
            me.parent = self._parked.popleft().stack if self._parked else self._main
        except GreenletExit:
            return
        except BaseException as error:  # noqa: BLE001 (raised again by `run`, as itself)
            self._failure = error
            self._mute()
            me.parent = self._main

    def _serve(self) -> None:
        """Entry of the hub: begin the other greenlets, so that none lies on top of another."""
        for program in self._fresh:
            self._new_stack(self._continue).switch(program, self._host)
        getcurrent().parent = self._parked.popleft().stack

    def _new_stack(self, entry: Callable[..., None]) -> greenlet:
        stack = greenlet(entry, self._main)
        stack.gr_context = contextvars.copy_context()
        return stack

    def _wait(self, waiting: Waiting, spins: bool) -> None:
        """Give way to the others; return when it is the turn of this instance again."""
        if self._unwinding:
            return
        me = _Parked(getcurrent(), waiting, self._spin)
        self._judge(me)
        if self._hub is None:
            self._hub = self._new_stack(self._serve)
        crowded = not spins and len(self._parked) >= CROWD
        if not (self._hub.dead or crowded):
            self._parked.append(me)
            _switch(self._hub)
        elif self._parked:
            self._parked.append(me)
            _switch(self._parked.popleft().stack)
        if self._failure is not None:
            raise GreenletExit
        self.program, self._spin = waiting.program, me.spin

    def _judge(self, me: _Parked) -> None:
        """Count looks in vain; raise once all unfinished instances had one each."""
        if self._quiet_since != self.version:
            self._quiet_since, self._quiet, self._stuck = self.version, 0, 0
        self._quiet += 1
        stuck = me.spin.same_state(self.version, lambda: fingerprint(sys._getframe(4)))
        self._stuck = self._stuck + 1 if stuck else 0
        unfinished = len(self._parked) + 1
        if self.finished + unfinished < self.total:
            return
        certain = self._stuck >= unfinished
        if certain or self._quiet >= max(PATIENCE, 100 * unfinished):
            everyone = [parked.waiting for parked in (*self._parked, me)]
            everyone.sort(key=lambda w: w.program[::-1])
            raise Deadlock(everyone, certain)

    def _mute(self) -> None:
        """Stop tracing while stacks are unwound: no debugger shall stop in an abandoned one."""
        if not self._unwinding:
            self._unwinding = True
            self._trace = sys.gettrace()
            sys.settrace(None)

    def _unwind(self) -> None:
        """Drop the instances that are still parked, then trace as before."""
        if self._hub is None:
            return
        self._mute()
        for stack in (self._hub, *(parked.stack for parked in self._parked)):
            if stack and stack is not self._main:
                stack.parent = self._main
                stack.throw(GreenletExit)
        self._parked.clear()
        self._hub = None
        if self._trace is not None:
            sys.settrace(self._trace)


def _switch(stack: greenlet, *arguments: object) -> None:
    """Go on in `stack`, and see to it that a debugger which began there traces this one too.

    Since Python 3.12 tracing is switched on in the code of frames that are running, and it does
    not know the frames of a parked stack (PEP 669); switching it on again does it for them.
    """
    traced = sys.gettrace() is not None
    stack.switch(*arguments)
    trace = sys.gettrace()
    if not traced and trace is not None:
        sys.settrace(None)
        sys.settrace(trace)


# The order.


def program_order(count: int, seed: int, start: int = 0, stop: int | None = None) -> Ids:
    """The linear ids that take turns `start` to `stop` under `seed`, as an array.

    Seed 0 is the order of the ids (x runs fastest), seed 1 its reverse, any other a permutation.
    """
    turns = np.arange(start, count if stop is None else min(stop, count), dtype=np.int64)
    if seed == 0:
        return turns
    if seed == 1:
        return count - 1 - turns
    if count <= _SORTED_UP_TO:
        keys = _mix(np.arange(count, dtype=np.uint64), seed)
        ids: Ids = np.argsort(keys, kind="stable")[turns]
        return ids
    return _permute(turns.astype(np.uint64), count, seed).astype(np.int64)


def _mix(words: Words, key: int) -> Words:
    """splitmix64 of `words` under `key`."""
    salt = (key * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    words = words * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _permute(turns: Words, count: int, seed: int) -> Words:
    """A Feistel network on the next even number of bits, walked until it lands below `count`."""
    half = np.uint64((count - 1).bit_length() + 1 >> 1)
    low = (np.uint64(1) << half) - np.uint64(1)
    ids = turns.copy()
    away = np.arange(len(ids))
    while len(away):
        left, right = ids[away] >> half, ids[away] & low
        for step in range(6):
            left, right = right, left ^ (_mix(right, 8 * seed + step) & low)
        ids[away] = (left << half) | right
        away = away[ids[away] >= count]
    return ids


def _programs(
    grid: Program, seed: int, only: Iterable[Program] | None, limit: int | None
) -> tuple[int, Iterator[Program]]:
    """How many instances run, and which, in order."""
    programs: Iterator[Program]
    if only is not None:
        chosen = sorted({_inside(program, grid) for program in only}, key=lambda p: p[::-1])
        total = len(chosen)
        programs = (chosen[i] for i in program_order(total, seed))
    else:
        total = grid[0] * grid[1] * grid[2]
        programs = _in_order(grid) if seed == 0 else _permuted(grid, total, seed)
    if limit is not None and limit < total:
        return limit, islice(programs, limit)
    return total, programs


def _inside(program: Program, grid: Program) -> Program:
    if not all(0 <= p < n for p, n in zip(program, grid, strict=True)):
        raise ValueError(f"program instance {program} is outside grid {grid}")
    return program


def _in_order(grid: Program) -> Iterator[Program]:
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                yield x, y, z


def _permuted(grid: Program, total: int, seed: int) -> Iterator[Program]:
    for start in range(0, total, _CHUNK):
        for linear in program_order(total, seed, start, start + _CHUNK).tolist():
            rest, x = divmod(linear, grid[0])
            z, y = divmod(rest, grid[1])
            yield x, y, z
