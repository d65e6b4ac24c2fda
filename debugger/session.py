"""`Session`: one launch under a debugger, without a terminal.

The launch is deterministic, and its memory can be put back: so it can be run again from any program
instance, and a session can stand anywhere in it. What ran is recorded (`history`); going back moves
along the record and undoes memory, going forward redoes it, and past its end the kernel runs on.

Invariant: memory is what it was where the session stands, and the kernel only ever goes on with
memory at its present.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.debugger.evaluating import evaluate
from blockstep.debugger.history import LIMIT, History
from blockstep.debugger.moments import (
    Born,
    Frame,
    Moment,
    Reason,
    Stop,
    Written,
    frames_of,
)
from blockstep.debugger.points import Points
from blockstep.debugger.running import Run
from blockstep.findings import Finding, Site
from blockstep.interp.memory import View
from blockstep.interp.transfer import gather
from blockstep.options import Program
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.memory import array_of

Wants = Callable[[Moment], bool]


@dataclass(frozen=True, slots=True)
class GridState:
    """Of each program instance, by its linear id: whether it is done, has begun, was found at fault,
    is the other party of a finding; and where the session stands."""

    grid: Program
    done: Any
    begun: Any
    found: Any
    partner: Any
    here: int | None


class Session:
    """One launch. `judged`: whether all checkers look at it. `limit`: bytes that the history may take.

    Raises what the launch raises only in `launch` itself; an exception of the kernel is a stop."""

    def __init__(
        self, launch: Launch, seed: int = 0, judged: bool = True, limit: int = LIMIT
    ) -> None:
        self.launch, self.seed, self.judged, self.limit = launch, seed, judged, limit
        self.points = Points(self.evaluate)
        self.history = History(limit)
        self.stop: Stop | None = None
        self._run: Run | None = None
        self._at: int | None = None  # the moment where the session stands; None: the present
        self._wants: Wants = _never
        self._first: Program | None = None

    # Running.

    def start(self, program: Program | None = None) -> Stop:
        """Runs up to the first line of a program instance (None: of the first one).

        Raises ValueError for one outside of the grid."""
        if program is not None and not all(
            0 <= p < n for p, n in zip(program, self.launch.grid, strict=True)
        ):
            raise ValueError(f"program instance {program} is outside of grid {self.launch.grid}")
        self._first = program
        return self._begin(program, lambda moment: True)

    def run(self) -> Stop:
        """The launch from its beginning up to the first thing that stops it."""
        self._first = None
        return self._begin(None, _never)

    def restart(self) -> Stop:
        """From the instance that the session started at, once more."""
        return self.start(self._first)

    def goto(self, program: Program) -> Stop:
        """`start`, in another program instance. Raises ValueError."""
        return self.start(program)

    def _begin(self, program: Program | None, wants: Wants) -> Stop:
        self.abandon()
        self.history = History(self.limit)
        self._wants = wants
        self._run = Run(
            self.launch, self.seed, program, self.judged, self.history, self.points, self._stops
        )
        return self._resume()

    def abandon(self) -> None:
        """Ends the run where it is; memory is as before the launch."""
        if self._run is not None:
            self._run.close()
            self._run = None
        self.launch.memory.restore()
        self._at, self.stop = None, None

    close = abandon

    def interrupt(self) -> None:
        """A kernel that runs stops at its line. May be called from any thread, or a signal handler."""
        if self._run is not None:
            self._run.interrupt()

    # Going forward.

    def step(self) -> Stop:
        """To the next line, of a function that is called too; from the end of a program instance to
        the beginning of the next."""
        if self._is_at_end_of_instance():
            return self._forward(lambda moment: True)
        program = self._here().program
        return self._forward(lambda moment: moment.program == program)

    def next(self) -> Stop:
        """To the next line of this call, or of the one that called it."""
        if self._is_at_end_of_instance():
            return self._forward(lambda moment: True)
        here = self._here()
        return self._forward(_within(here.program, here.top.depth))

    def finish(self) -> Stop:
        """Until this call returns; the kernel's own function stands at its end then."""
        here = self._here()
        if here.top.depth == 0:
            return self._forward(lambda m: m.program == here.program and m.ends)
        return self._forward(_within(here.program, here.top.depth - 1))

    def until(self, line: int | None = None) -> Stop:
        """To a line of this call past this one (or not before `line`), or to its caller: loops end."""
        here = self._here()
        least = here.top.line + 1 if line is None else line

        def wants(moment: Moment) -> bool:
            if moment.program != here.program or moment.top.depth > here.top.depth:
                return False
            same = moment.top.depth == here.top.depth and moment.top.code is here.top.code
            return moment.ends or not same or moment.top.line >= least

        return self._forward(wants)

    def cont(self) -> Stop:
        """To whatever stops the session, or the end of the launch."""
        return self._forward(_never)

    def until_moment(self, number: int) -> Stop:
        """To a moment of the run, earlier or later."""
        if self._at is None or number > self._at:
            if number < self.history.count and self._at is not None:
                return self._stand(number, None)
            if number >= self.history.count:
                return self._forward(lambda moment: moment.number >= number)
        return self._back_to(number)

    def _forward(self, wants: Wants) -> Stop:
        self._wants = wants
        while self._at is not None:
            number = self._at + 1
            if number >= self.history.count:
                self._at = None
                break
            moment = self.history[number]
            self._at = number
            self.history.log.go(moment.written)
            if self._reason(moment) is not None:
                return self._stand(number, None)
        self.history.log.go(self.history.log.count)
        return self._resume()

    def _resume(self) -> Stop:
        run = self._run
        if run is None:
            raise RuntimeError("the launch has not been started")
        if run.over:
            return self._told(Stop(Reason.END, None, (), run.error, self.position, False))
        moment = run.go()
        self._at = None
        if moment is None:
            return self._told(Stop(Reason.END, None, (), run.error, self.position, False))
        return self._stand(moment.number, None)

    def _stops(self, moment: Moment) -> bool:
        """Asked in the thread of the kernel, for each line."""
        self._found = self.points.hit(moment) if self.points.breakpoints else None
        return self._found is not None or self._wants(moment)

    _found: Any = None

    def _reason(self, moment: Moment) -> Reason | None:
        """Why a recorded moment is one to stop at, if it is."""
        if moment.reason is not None and self._still(moment):
            return moment.reason
        self._found = self.points.hit(moment)
        if self._found is not None:
            return Reason.BREAKPOINT
        if self._wants(moment):
            return Reason.INSTANCE_END if moment.ends else Reason.LINE
        return None

    def _still(self, moment: Moment) -> bool:
        """Whether what made a moment would still stop the session."""
        detail, events = moment.detail, self.points.events
        if isinstance(detail, Written):
            place = (detail.argument, detail.index)
            return any(w.enabled and (w.argument, w.index) == place for w in self.points.watches)
        wanted = {Reason.FINDING: "finding", Reason.EXCEPTION: "exception"}.get(moment.reason)  # type: ignore[arg-type]
        if isinstance(detail, Born):
            wanted = detail.kind
        return wanted in events

    # Going back.

    def reverse_step(self) -> Stop:
        """To the line that ran before."""
        here = self._here()
        return self._backward(lambda m: m.program == here.program or m.ends)

    def reverse_next(self) -> Stop:
        """To the line of this call that ran before, or of its caller."""
        here = self._here()
        return self._backward(_within(here.program, here.top.depth))

    def reverse_finish(self) -> Stop:
        """To the line that called this function; the kernel's own begins there."""
        here = self._here()
        if here.top.depth == 0:
            return self._backward(
                lambda m: m.program == here.program and m.enters and not m.top.depth
            )
        return self._backward(_within(here.program, here.top.depth - 1))

    def reverse_continue(self) -> Stop:
        """To the latest moment before this one at which a breakpoint holds, a watched element is
        written or something happened; else to where the record begins."""
        return self._backward(_never, self.points.hit)

    def last_write(self, view: View, index: tuple[int, ...]) -> Stop | None:
        """To the line that wrote an element last; None if none did since the record began."""
        address = _address(view, index)
        number = self._standing()
        log = self.history.log
        for at in range(self._written_at(number) - 1, log.first - 1, -1):
            if log.entries[at - log.first].touches(address, view.itemsize):
                return self._at_write(at, view, index)
        return None

    def _written_at(self, number: int) -> int:
        return (
            self.history[number].written if number < self.history.count else self.history.log.count
        )

    def _at_write(self, at: int, view: View, index: tuple[int, ...]) -> Stop:
        """The moment whose line makes write number `at`."""
        entry = self.history.log.entries[at - self.history.log.first]
        moment = next(
            m
            for m in reversed(self.history.moments)
            if m.written <= at and m.program == entry.program and not self._is_within_line(m)
        )
        self.history.log.go(at + 1)
        new = self._element(view, index)
        self.history.log.go(at)
        old = self._element(view, index)
        site: Site = entry.site
        detail = Written(view.name, index, old, new, entry.program, site.span.file, site.span.line)
        return self._stand(moment.number, Reason.WATCH, detail)

    def _backward(self, wants: Wants, hit: Any = None) -> Stop:
        start = self._standing()
        for moment in self._before(start):
            if self._is_within_line(moment) and hit is None:
                continue  # the line that it is in has a moment
            if hit is not None:
                written = self._watched_write(moment, start)
                if written is not None:
                    return written
                found = hit(moment, counts=False)
                if found is not None:
                    self._found = found
                    return self._stand(moment.number, Reason.BREAKPOINT, found)
                if moment.reason is not None and self._still(moment):
                    return self._stand(moment.number, None)
            if wants(moment):
                return self._stand(moment.number, None)
        if self.history.first:
            return self._rerun(self.history.first - 1, wants, hit)
        return self._stand(self.history.first, Reason.BEGIN)

    def _before(self, start: int) -> Iterator[Moment]:
        yield from self.history.back_from(min(start, self.history.count))

    def _watched_write(self, moment: Moment, start: int) -> Stop | None:
        """The last write of a watched element that the line of a moment makes."""
        watches = [w for w in self.points.watches if w.enabled]
        if not watches or self._is_within_line(moment):
            return None
        log, after = self.history.log, self._written_at(moment.number + 1)
        for at in range(after - 1, moment.written - 1, -1):
            entry = log.entries[at - log.first]
            for watch in watches:
                if entry.touches(watch.address, watch.size):
                    return self._at_write(at, watch.view, watch.index)
        return None

    @staticmethod
    def _is_within_line(moment: Moment) -> bool:
        return moment.reason in (Reason.FINDING, Reason.BORN, Reason.EXCEPTION, Reason.ERROR)

    def _rerun(self, number: int, wants: Wants, hit: Any) -> Stop:
        """What is wanted lies before what is kept: the launch runs again, up to moment `number`."""
        self._again(number)
        return self._backward_from(wants, hit)

    def _backward_from(self, wants: Wants, hit: Any) -> Stop:
        here = self.history[self._standing()]
        found = hit is not None and hit(here, counts=False) is not None
        if found or wants(here):
            return self._stand(here.number, None)
        return self._backward(wants, hit)

    def _again(self, number: int) -> None:
        events, self.points.events = self.points.events, set()
        points, self.points.breakpoints = self.points.breakpoints, []
        watches, self.points.watches = self.points.watches, []
        first = self._run.first if self._run is not None else None
        try:
            self._begin(first, lambda moment: moment.number >= number)
        finally:
            self.points.events, self.points.breakpoints = events, points
            self.points.watches = watches

    def _back_to(self, number: int) -> Stop:
        if number < self.history.first:
            self._again(number)
        return self._stand(number, None)

    # Where it stands.

    def _standing(self) -> int:
        if self._at is not None:
            return self._at
        over = self._run is None or self._run.over
        return self.history.count if over else self.history.count - 1

    def _here(self) -> Moment:
        """The moment where the session stands. Raises RuntimeError where nothing runs."""
        number = self._standing()
        if number >= self.history.count:
            if not self.history.moments:
                raise RuntimeError("nothing runs")
            return self.history.last
        return self.history[number]

    def _is_at_end_of_instance(self) -> bool:
        number = self._standing()
        return number >= self.history.count or self.history[number].ends

    def _stand(self, number: int, reason: Reason | None, detail: Any = None) -> Stop:
        moment = self.history[number]
        present = number == self.history.count - 1 and not (self._run is None or self._run.over)
        self._at = None if present else number
        if reason is not Reason.WATCH or detail is None:
            self.history.log.go(moment.written)
        if reason is None:
            reason, detail = self._why(moment)
        stop = Stop(reason, moment.program, frames_of(moment.top), detail, self.position, self.past)
        return self._told(stop)

    def _why(self, moment: Moment) -> tuple[Reason, Any]:
        if moment.reason is not None:
            return moment.reason, moment.detail
        found, self._found = self._found, None
        if found is not None:
            return Reason.BREAKPOINT, found
        return (Reason.INSTANCE_END if moment.ends else Reason.LINE), None

    def _told(self, stop: Stop) -> Stop:
        self.stop = stop
        return stop

    @property
    def position(self) -> tuple[int, int]:
        """The number of the moment where the session stands, and how many there are so far."""
        return min(self._standing(), max(self.history.count - 1, 0)), self.history.count

    @property
    def past(self) -> bool:
        """Whether later moments are recorded."""
        return self._at is not None

    # What can be looked at.

    def evaluate(self, text: str, frame: Frame) -> Any:
        """The value of an expression over the names of a frame. Raises what it raises."""
        program = self.stop.program if self.stop is not None else None
        return evaluate(text, frame, self.launch, program or (0, 0, 0))

    @property
    def views(self) -> list[View]:
        """The array arguments."""
        return [v for v in self.launch.bound.space.views if v.name]

    def view(self, name: str) -> View:
        """An array argument. Raises KeyError."""
        for view in self.views:
            if view.name == name:
                return view
        raise KeyError(name)

    def array(self, name: str) -> Any:
        """An array argument as it is where the session stands: a copy. Raises KeyError."""
        view = self.view(name)
        assert view.storage is not None
        return array_of(view, view.storage.data).copy()

    def _element(self, view: View, index: tuple[int, ...]) -> Any:
        assert view.storage is not None
        return gather(view.storage, np.int64(_address(view, index)), view.dtype.numpy)

    @property
    def findings(self) -> list[Finding]:
        """What the checkers have found in this run."""
        return self._run.findings if self._run is not None else []

    @property
    def error(self) -> BaseException | None:
        """What the kernel ended in."""
        return self._run.error if self._run is not None else None

    def grid_state(self) -> GridState:
        """Where each program instance is."""
        grid, run = self.launch.grid, self._run
        total = grid[0] * grid[1] * grid[2]
        done, begun, found, partner = (np.zeros(total, bool) for _ in range(4))

        def put(flags: Any, programs: Any) -> None:
            for x, y, z in programs:
                flags[x + grid[0] * (y + grid[1] * z)] = True

        if run is not None:
            put(done, run.before)
            put(done, run.recorder.done)
            put(begun, run.recorder.waiting())
            put(found, [f.program for f in run.findings if f.program])
            put(partner, [p.program for f in run.findings for p in f.related if p.program])
        here = self.stop.program if self.stop is not None else None
        at = None if here is None else here[0] + grid[0] * (here[1] + grid[1] * here[2])
        return GridState(grid, done, begun, found, partner, at)


def _never(moment: Moment) -> bool:
    return False


def _within(program: Program, depth: int) -> Wants:
    """Lines of one instance in a call no deeper than that."""
    return lambda moment: moment.program == program and moment.top.depth <= depth


def _address(view: View, index: tuple[int, ...]) -> int:
    steps = sum(i * s for i, s in zip(index, view.strides, strict=True))
    return int(view.base) + steps * view.itemsize


__all__ = ["GridState", "Session"]
