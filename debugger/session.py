"""`Session`: one launch under a debugger, without a terminal.

The launch is deterministic, and its memory can be put back: so it can be run again from any program
instance, and a session can stand anywhere in it. What ran is recorded (`history`); going back moves
along the record and undoes memory, going forward redoes it, and past its end the kernel runs on.

Invariant: memory is what it was where the session stands, and the kernel only ever goes on with
memory at its present.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.debugger.moments import Moment, Stop
from blockstep.debugger.reversing import Reversing
from blockstep.debugger.standing import never, within
from blockstep.findings import Finding
from blockstep.interp.memory import View
from blockstep.options import Program
from blockstep.runtime.ladder.memory import array_of


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


class Session(Reversing):
    """One launch. `judged`: whether all checkers look at it. `limit`: bytes that the history may take.

    Raises what the launch raises only in `launch` itself; an exception of the kernel is a stop."""

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
        return self._begin(None, never)

    def restart(self) -> Stop:
        """From the instance that the session started at, once more."""
        return self.start(self._first)

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
        return self._forward(within(here.program, here.top.depth))

    def finish(self) -> Stop:
        """Until this call returns; the kernel's own function stands at its end then."""
        here = self._here()
        if here.top.depth == 0:
            return self._forward(lambda m: m.program == here.program and m.ends)
        return self._forward(within(here.program, here.top.depth - 1))

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
        return self._forward(never)

    def until_moment(self, number: int) -> Stop:
        """To a moment of the run, earlier or later."""
        if self._at is None or number > self._at:
            if number < self.history.count and self._at is not None:
                return self._stand(number, None)
            if number >= self.history.count:
                return self._forward(lambda moment: moment.number >= number)
        return self._back_to(number)

    # What can be looked at.

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


__all__ = ["GridState", "Session"]
