"""`Standing`: one launch, its run, its record, and the moment of it where a session stands.

Invariant: memory is what it was where the session stands, and the kernel only ever goes on with memory at
its present.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from blockstep.debugger.evaluating import evaluate
from blockstep.debugger.history import LIMIT, History
from blockstep.debugger.interrupting import asking
from blockstep.debugger.moments import (
    Born,
    Frame,
    Moment,
    Reason,
    Stop,
    Strayed,
    Written,
    frames_of,
)
from blockstep.debugger.points import Breakpoint, Points
from blockstep.debugger.running import Run
from blockstep.debugger.shortcut import Shortcut
from blockstep.interp.memory import View
from blockstep.interp.transfer import gather
from blockstep.options import Program
from blockstep.runtime.ladder.launch import Launch

Wants = Callable[[Moment], bool]
Element = tuple[int, int]  # address and size


class Standing:
    """One launch, and where a session stands in it."""

    def __init__(
        self, launch: Launch, seed: int = 0, judged: bool = True, limit: int = LIMIT
    ) -> None:
        self.launch, self.seed, self.judged, self.limit = launch, seed, judged, limit
        self.points = Points(self.evaluate)
        self.history = History(limit)
        self.stop: Stop | None = None
        self._run: Run | None = None
        self._at: int | None = None  # the moment where the session stands; None: the present
        self._wants: Wants = never
        self._first: Program | None = None
        self._quiet = False  # while a run is repeated
        self._asked = False  # to stop where it is
        self._moves = False
        self._found: Breakpoint | None = None  # what holds at the moment that a run stops at
        self._shortcut = Shortcut(launch, judged)

    def interrupt(self) -> None:
        """A session that moves stops at the line where it is. May be called from any thread, or a signal
        handler; where it stands already nothing comes of it."""
        if self._moves:
            self._asked = True
            if self._run is not None:
                self._run.interrupt()

    @contextmanager
    def _moving(self) -> Iterator[None]:
        """Around each move of a person."""
        if self._moves:
            yield
            return
        self._asked, self._moves = False, True
        try:
            with asking(self.interrupt):
                yield
        finally:
            self._moves = False

    def _begin(self, program: Program | None, wants: Wants, sought: Sequence[Element] = ()) -> Stop:
        self.abandon()
        self.history = History(self.limit)
        self._wants = wants
        self._run = Run(
            self.launch, self.seed, program, self.judged, self.history, self.points, self._stops,
            self._shortcut,
        )  # fmt: skip
        self._run.recorder.sought = sought
        with self._moving():
            return self._resume()

    def abandon(self) -> None:
        """Ends the run where it is; memory is as before the launch."""
        if self._run is not None:
            self._run.close()
            self._run = None
        self.launch.memory.restore()
        self._at, self.stop = None, None

    close = abandon

    def _forward(self, wants: Wants) -> Stop:
        with self._moving():
            if self._follow_errors():
                return self.stop  # type: ignore[return-value]
            self._wants = wants
            replayed = self._replay()
            return self._resume() if replayed is None else replayed

    def _replay(self) -> Stop | None:
        """Forwards along the record: a stop in it, or None at its end."""
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
            if self._asked:
                return self._stand(number, Reason.INTERRUPT)
        self.history.log.go(self.history.log.count)
        return None

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
        """Asked in the thread of the kernel, for each moment."""
        if self._quiet:
            return moment.reason is Reason.INTERRUPT or self._wants(moment)
        self._found = self.points.hit(moment) if self.points.breakpoints else None
        return self._found is not None or self._wants(moment) or self._happens(moment)

    def _happens(self, moment: Moment) -> bool:
        """Whether a moment stops the session for what made it."""
        if isinstance(moment.detail, Written):
            for watch in self.points.watches:
                if (watch.argument, watch.index) == (moment.detail.argument, moment.detail.index):
                    watch.hits += 1
        return moment.reason is not None

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
        if isinstance(detail, Strayed):
            return self.points.error is not None and detail.ulps > self.points.error
        if moment.reason is Reason.BREAKPOINT:
            return True  # the kernel's own
        wanted = {Reason.FINDING: "finding", Reason.EXCEPTION: "exception"}.get(moment.reason)  # type: ignore[arg-type]
        if isinstance(detail, Born):
            wanted = detail.kind
        return wanted in events

    # The same once more.

    def _again(self, first: Program | None, wants: Wants, sought: Sequence[Element] = ()) -> Stop:
        """Runs the launch again up to a moment, and stops for nothing else but an interrupt."""
        with self._silently():
            return self._begin(first, wants, sought)

    @contextmanager
    def _silently(self) -> Iterator[None]:
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False

    def _is_interrupted(self) -> bool:
        return self.stop is not None and self.stop.reason is Reason.INTERRUPT

    def _moment_of(self, line: int) -> Moment | None:
        for moment in reversed(self.history.moments):
            if moment.lines < line:
                break
            if moment.lines == line and not moment.within_line:
                return moment
        return None

    def _follow_errors(self) -> bool:
        """Values that are there already have no error known: where somebody asks for errors later, the
        launch runs again up to here. Whether an interrupt ended that."""
        run, lines = self._run, self.lines
        if self.points.error is None or run is None or run.straying is not None:
            return False
        if run.over and self._at is None:
            return False
        self._again(run.first, lambda m: m.lines >= lines)
        return self._is_interrupted()

    # Where it stands.

    @property
    def lines(self) -> int:
        """The number of the line where the session stands, or that it is in; from 1."""
        number = self._standing()
        if not self.history.moments:
            return 0
        return self.history[min(number, self.history.count - 1)].lines

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

    def evaluate(self, text: str, frame: Frame, program: Program | None = None) -> Any:
        """The value of an expression over the names of a frame (of `program`; None: of the instance where
        the session stands). Raises what it raises."""
        if program is None and self.stop is not None:
            program = self.stop.program
        return evaluate(text, frame, self.launch, program or (0, 0, 0))

    def _element(self, view: View, index: tuple[int, ...]) -> Any:
        assert view.storage is not None
        return gather(view.storage, np.int64(address_of(view, index)), view.dtype.numpy)


def never(moment: Moment) -> bool:
    return False


def within(program: Program, depth: int) -> Wants:
    """Lines of one instance in a call no deeper than that."""
    return lambda moment: moment.program == program and moment.top.depth <= depth


def address_of(view: View, index: tuple[int, ...]) -> int:
    steps = sum(i * s for i, s in zip(index, view.strides, strict=True))
    return int(view.base) + steps * view.itemsize


__all__ = ["Element", "Standing", "Wants", "address_of", "never", "within"]
