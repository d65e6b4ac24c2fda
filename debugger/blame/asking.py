"""`accesses` and `blame`: questions about one element of an argument of a launch."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from blockstep.debugger.blame.candidates import Dependent, Touching, heard, run_before, triple
from blockstep.debugger.blame.following import MOST_INSTANCES, followed
from blockstep.debugger.blame.running import Target, aside, run, target_of
from blockstep.findings.blame import Accesses, Chain
from blockstep.interp.blame.drafts import Draft
from blockstep.interp.blame.log import KEPT, Watched, WriteLog
from blockstep.interp.blame.slice import Slice
from blockstep.interp.blame.tape import Tape
from blockstep.interp.scheduler import Program
from blockstep.runtime.ladder.launch import Launch

MANY = 1024  # instances that touch an element: past it only the first and last ones run by steps
ENDS = 128  # of those, at each end


@dataclass(slots=True, eq=False)
class Asked:
    """A question, and which instances have to run (None: all)."""

    launch: Launch
    target: Target
    seed: int
    programs: list[Program] | None = None
    counts: Any = None  # accesses of each of them
    _left: tuple[WriteLog, Any] | None = None  # of the last run without a window: log, value

    @property
    def name(self) -> str:
        """Of the argument."""
        return self.target.name

    @property
    def index(self) -> tuple[int, ...]:
        """Into the argument."""
        return self.target.index

    def run(self, tapes: dict[Program, Tape]) -> tuple[WriteLog, str]:
        """A run from the beginning that fills the tapes; in what it ended."""
        self.launch.memory.restore()
        log, programs = WriteLog(self.watched()), self.programs
        log.partial = self.last_ones(MOST_INSTANCES)
        log.wanted = dict(tapes)
        if log.partial and programs is not None:
            programs = programs[-MOST_INSTANCES:]
        error = run(self.launch, log, self.seed, programs)
        if all(tape.until is None for tape in tapes.values()):
            assert log.watched is not None
            self._left = log, log.watched.value()
        return log, error

    def head(self, slicing: Slice) -> Draft:
        """The last write, or the element as the host passed it."""
        assert self._left is not None
        (log, value), t = self._left, self.target
        event = log.last(t.storage, t.address, t.view.itemsize)
        return slicing.memory(t.storage, t.address, event, value, t.view.dtype, t.view)

    def first(self, log: WriteLog) -> list[Program]:
        """Who wrote the element, the last ones first."""
        assert log.watched is not None
        return list(reversed(log.watched.writers))

    def watched(self) -> Watched:
        """The element, with no access to it yet."""
        return Watched(self.target.storage, self.target.address, self.target.view.dtype.numpy)

    def find(self, writes: bool) -> None:
        """Which instances touch (or write) it, if that is enough to know."""
        touching = Touching(self.launch, self.target)
        try:
            heard(self.launch, touching)
        except Dependent:
            return
        finally:
            self.launch.memory.restore()
        linear = touching.programs(self.seed, writes)
        self.programs = [triple(self.launch.grid, int(i)) for i in linear]
        self.counts = touching.counts[linear]

    def last_ones(self, most: int) -> bool:
        """Brings memory to where only the last instances are left to run, if that can be done."""
        programs = self.programs
        if programs is None or self.seed or len(programs) <= most:
            return False
        try:
            run_before(self.launch, programs[-most])
        except Dependent:
            self.launch.memory.restore()
            return False
        return True


def accesses(launch: Launch, name: str, index: Sequence[int], *, seed: int = 0) -> Accesses:
    """All accesses to one element of an array argument, in order of execution under a seed: also
    through other arguments that share its memory, and through descriptors. Masked-off lanes are
    none. Of very many, the first and last are kept and the rest is counted.

    Raises LookupError for a name that is no array argument, IndexError for an index outside of it.
    """
    target = target_of(launch, name, index)
    with aside(launch):
        asked = Asked(launch, target, seed)
        before = asked.watched().value()
        asked.find(writes=False)
        programs = asked.programs
        many = programs is not None and len(programs) > MANY and not seed
        first = WriteLog(asked.watched())
        error = run(
            launch, first, seed, programs[:ENDS] if many and programs is not None else programs
        )
        watched = first.watched
        assert watched is not None
        if not many:
            kept = tuple(watched.first), tuple(watched.last), watched.count
        else:
            assert programs is not None
            launch.memory.restore()
            middle = int(asked.counts[ENDS:-ENDS].sum())
            watched, kept = _both_ends(asked, watched, middle)
        return Accesses(
            name, target.index, target.view.dtype.codegen_name(), kept[2], kept[0], kept[1],
            before, watched.value(), error,
        )  # fmt: skip


def _both_ends(asked: Asked, first: Watched, middle: int) -> tuple[Watched, Any]:
    """The accesses of the last instances behind those of the first ones."""
    launch, programs = asked.launch, asked.programs
    assert programs is not None
    log = WriteLog(asked.watched())
    assert log.watched is not None
    if not asked.last_ones(ENDS):
        run(launch, log, 0, programs)
        found = log.watched
        return found, (tuple(found.first), tuple(found.last), found.count)
    run(launch, log, 0, programs[-ENDS:])
    head = (*first.first, *first.last)
    tail: deque[Any] = deque((*log.watched.first, *log.watched.last), maxlen=KEPT)
    count = first.count + middle + log.watched.count
    moved = [replace(a, number=count - len(tail) + k) for k, a in enumerate(tail)]
    return log.watched, (head[:KEPT], tuple(moved), count)


def blame(launch: Launch, name: str, index: Sequence[int], *, seed: int = 0) -> Chain:
    """Who wrote one element of an array argument last in a launch, and the chain of values that it
    came from.

    Raises LookupError for a name that is no array argument, IndexError for an index outside of it.
    """
    target = target_of(launch, name, index)
    with aside(launch):
        asked = Asked(launch, target, seed)
        asked.find(writes=True)
        return followed(asked, [])


__all__ = ["Asked", "ENDS", "MANY", "accesses", "blame"]
