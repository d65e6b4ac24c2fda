"""Opening a session: on launches of a script, on a launch in a file, on one that failed.

`Opening` stands in for the launcher. It gives each launch that somebody wants to see to a prompt, and
launches it as usual when the prompt lets it go: the script never knows.
"""

from __future__ import annotations

import bdb
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from blockstep.debugger.commands.commands import Commands
from blockstep.debugger.commands.reply import Refused, Then
from blockstep.debugger.moments import Reason, Stop
from blockstep.debugger.points import Points
from blockstep.debugger.session import Session
from blockstep.findings import Severity
from blockstep.language import frames
from blockstep.language.function import JITFunction
from blockstep.options import Program
from blockstep.runtime import held
from blockstep.runtime.ladder.launch import Launch, take
from blockstep.runtime.session import machine

TOO_LARGE = "the launch failed, but it cannot be run again: "


Left = list[tuple[Any, Any]]


class Talks(Protocol):
    """A prompt or a screen: shows a stop and does what a person says, until the script goes on."""

    def __call__(self, commands: Commands, stop: Stop) -> Then: ...


@dataclass(slots=True, eq=False)
class Opening:
    """Stands in for the launcher: stops in launch number `number` (from 1, None: the first) of `kernel`
    (None: any), in `program` (None: the first one). Later launches stop at the breakpoints that were
    set. With `post_mortem` it stops only in a launch that fails, where it fails."""

    talks: Talks
    before: Any
    kernel: str | None = None
    program: Program | None = None
    number: int | None = None
    seed: int = 0
    post_mortem: bool = False
    plain: bool = False
    color: bool = False
    said: Callable[[str], None] = print
    stopped: bool = False
    kept: Points | None = None  # what the last session stopped at
    counts: dict[str, int] = field(default_factory=dict)
    grids: dict[str, Program] = field(default_factory=dict)

    def __call__(
        self, function: JITFunction, args: Any, kwargs: dict[str, Any], *, grid: Any, warmup: bool
    ) -> Any:
        """One launch. Raises BdbQuit where a person has seen enough."""
        if warmup:
            return self.before(function, args, kwargs, grid=grid, warmup=True)
        name = function.__name__
        self.counts[name] = self.counts.get(name, 0) + 1
        if self.post_mortem:
            held.ask()
            return self._watched(function, args, kwargs, grid)
        if self._is_wanted(name):
            launch = take(function, tuple(args), kwargs, grid, frames.user_site(1).span)
            launch.number = sum(self.counts.values())
            self.grids[name] = max(launch.grid, self.grids.get(name, launch.grid))
            if (self.stopped or self._has_program(launch)) and self._open(launch):
                return self.before(function, args, kwargs, grid=grid, warmup=True)
            with machine("step"):  # where a race decides, what was seen is what comes of it
                return self.before(function, args, kwargs, grid=grid, warmup=False)
        return self.before(function, args, kwargs, grid=grid, warmup=False)

    def _is_wanted(self, name: str) -> bool:
        if self.stopped:
            return self.kept is not None and bool(self.kept.breakpoints)
        right = self.kernel in (None, name)
        return right and self.number in (None, self.counts[name])

    def _has_program(self, launch: Launch) -> bool:
        program = self.program
        return program is None or all(p < n for p, n in zip(program, launch.grid, strict=True))

    def _open(self, launch: Launch) -> bool:
        """A session on a launch; whether memory has been left as the launch leaves it."""
        session = Session(launch, self.seed)
        left: Left = []
        try:
            if self.stopped:
                carry(self.kept, session)
                stop = session.run()
            else:
                self.stopped = True
                stop = session.start(self.program)
            if stop.reason is not Reason.END:
                self._talk(session, stop, self.program)
            left = memory_left(session)
        finally:
            self.kept = session.points
            session.close()
        for array, bytes_ in left:
            array[...] = bytes_
        launch.bound.finish()
        return bool(left)

    def _talk(self, session: Session, stop: Stop, first: Program | None) -> None:
        commands = Commands(session, self.plain, self.color)
        commands.first = first
        if self.talks(commands, stop) is Then.QUIT:
            raise bdb.BdbQuit

    # After a fault.

    def _watched(self, function: JITFunction, args: Any, kwargs: dict[str, Any], grid: Any) -> Any:
        """The launch as usual; a session where it failed."""
        if self.kernel not in (None, function.__name__):
            return self.before(function, args, kwargs, grid=grid, warmup=False)
        known = held.last_failed()
        try:
            return self.before(function, args, kwargs, grid=grid, warmup=False)
        finally:
            failed = held.last_failed()
            if failed is not None and failed is not known:
                self.stopped = True
                self.autopsy(failed)

    def autopsy(self, failed: held.Held) -> None:
        """A session where a launch failed. Memory is afterwards as the launch left it."""
        if failed.saved is None:
            self.said(TOO_LARGE + held.why_not())
            return
        with failed.as_before():
            launch = take(failed.function, failed.args, failed.kwargs, failed.grid, failed.host)
            launch.number = failed.number or None
            session = Session(launch, failed.seed)
            try:
                stop, first = at_fault(session, failed)
                self._talk(session, stop, first)
            finally:
                session.close()

    def missed(self) -> str:
        """Why it did not stop anywhere."""
        if self.post_mortem:
            return "no launch failed"
        if not self.counts:
            return "nothing to stop in: no kernel was launched"
        if self.kernel is not None and self.kernel not in self.counts:
            ran = ", ".join(self.counts)
            return f"nothing to stop in: kernel {self.kernel} was not launched; {ran} was"
        if not self.grids:
            times = "; ".join(f"{n} was launched {c} times" for n, c in self.counts.items())
            return f"nothing to stop in: there was no launch {self.number}; {times}"
        last = "; ".join(
            f"the last of {name} is ({x - 1}, {y - 1}, {z - 1})"
            for name, (x, y, z) in self.grids.items()
        )
        return f"nothing to stop in: no program instance {self.program} ran; {last}"


def show(
    launch: Launch, talks: Talks, program: Program | None = None, seed: int = 0,
    plain: bool = False, color: bool = False, first: Sequence[str] = (),
) -> Then:  # fmt: skip
    """A session on one launch that no script goes on after; what the prompt ended with. `first` are
    commands before anything is shown. Memory is afterwards as before the launch. Raises ValueError
    for a program instance outside of the grid, and for a first command that cannot be done."""
    session = Session(launch, seed)
    try:
        stop = session.start(program)
        commands = Commands(session, plain, color)
        commands.first = program
        commands.arrived(stop)
        for line in first:
            try:
                commands.run_line(line)
            except Refused as refused:
                raise ValueError(f"{line}: {refused}") from refused
        return talks(commands, commands.stopped)
    finally:
        session.close()


def memory_left(session: Session) -> Left:
    """What the launch has left in memory, if it has run to its end without an error."""
    if session.stop is None or session.stop.reason is not Reason.END or session.error is not None:
        return []
    storages = [s for s in session.launch.bound.space.storages if not s.readonly]
    arrays = [s.data for s in storages] + [s.written for s in storages if s.written is not None]
    return [(array, array.copy()) for array in arrays]


def carry(points: Points | None, session: Session) -> None:
    """What one session stopped at, for another: breakpoints as they are, watches where the launch
    has such an element."""
    if points is None:
        return
    own = session.points
    own.breakpoints, own.events, own.error = points.breakpoints, points.events, points.error
    own._count = points._count
    views = {v.name: v for v in session.views}
    for watch in points.watches:
        view = views.get(watch.argument)
        if view is not None and len(view.shape) == len(watch.index):
            if all(i < n for i, n in zip(watch.index, view.shape, strict=True)):
                made = own.watch(view, watch.index)
                made.number, made.enabled = watch.number, watch.enabled


def at_fault(session: Session, failed: held.Held) -> tuple[Stop, Program | None]:
    """Runs up to what went wrong; the instance that the record begins with, too."""
    program = failed.findings[0].program if failed.findings and failed.error is None else None
    if program is not None:
        stop = _to_error(session, session.start(program))
        if stop.reason is not Reason.END:
            return stop, program
    return _to_error(session, session.run()), None


def _to_error(session: Session, stop: Stop) -> Stop:
    while stop.reason not in (Reason.END, Reason.EXCEPTION):
        if stop.finding is not None and stop.finding.severity is Severity.ERROR:
            break
        stop = session.cont()
    return stop


__all__ = ["Opening", "Talks", "at_fault", "carry", "memory_left", "show"]
