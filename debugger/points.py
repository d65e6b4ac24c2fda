"""What a session stops at: breakpoints, watched elements, events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.debugger.moments import Moment, frames_of
from blockstep.interp.memory import View
from blockstep.options import Program

EVENTS = ("finding", "nan", "inf", "exception")


@dataclass(slots=True, eq=False)
class Breakpoint:
    """A line of a file, or the first line of a function. It holds where `condition` (an expression
    over the names there) is true for any element, in `program` only if that is given, and not before
    it was reached `ignore` times more. A `temporary` one goes when it has stopped the session."""

    number: int
    file: str | None = None
    line: int = 0
    function: str | None = None
    condition: str | None = None
    program: Program | None = None
    temporary: bool = False
    enabled: bool = True
    ignore: int = 0
    hits: int = 0

    def is_at(self, moment: Moment) -> bool:
        """Whether the moment is its place, whatever the condition says."""
        if not self.enabled or moment.ends or self.program not in (None, moment.program):
            return False
        top = moment.top
        if self.function is not None:
            return moment.enters and top.code.co_name == self.function
        return top.line == self.line and top.code.co_filename == self.file


@dataclass(slots=True, eq=False)
class Watch:
    """An element of an argument; writing it stops the session, whatever is written."""

    number: int
    argument: str
    index: tuple[int, ...]
    address: int
    size: int
    view: View
    enabled: bool = True
    hits: int = 0


@dataclass(slots=True, eq=False)
class Points:
    """All that one session stops at. `evaluate` gives the value of an expression in a frame
    of a program instance."""

    evaluate: Callable[..., Any]
    breakpoints: list[Breakpoint] = field(default_factory=list)
    watches: list[Watch] = field(default_factory=list)
    events: set[str] = field(default_factory=lambda: {"finding", "exception"})
    error: float | None = None  # units in the last place, past which an operation stops the session
    _count: int = 0

    def add(self, **told: Any) -> Breakpoint:
        """A breakpoint; `told` as in `Breakpoint`."""
        self._count += 1
        made = Breakpoint(self._count, **told)
        self.breakpoints.append(made)
        return made

    def watch(self, view: View, index: tuple[int, ...]) -> Watch:
        """Watches one element."""
        self._count += 1
        offset = sum(i * s for i, s in zip(index, view.strides, strict=True)) * view.itemsize
        address = int(view.base) + offset
        made = Watch(self._count, view.name, index, address, view.itemsize, view)
        self.watches.append(made)
        return made

    def remove(self, number: int) -> bool:
        """Takes a breakpoint or a watch away; whether there was one."""
        before = len(self.breakpoints) + len(self.watches)
        self.breakpoints = [b for b in self.breakpoints if b.number != number]
        self.watches = [w for w in self.watches if w.number != number]
        return len(self.breakpoints) + len(self.watches) < before

    def find(self, number: int) -> Breakpoint | Watch | None:
        """The breakpoint or watch of a number."""
        every: list[Breakpoint | Watch] = [*self.breakpoints, *self.watches]
        return next((p for p in every if p.number == number), None)

    def hit(self, moment: Moment, counts: bool = True) -> Breakpoint | None:
        """The first breakpoint that holds here. `counts`: hits are counted and ignored as told, which
        is not done where a session goes back."""
        found = None
        for point in self.breakpoints:
            if not point.is_at(moment) or not self._holds(point, moment):
                continue
            if counts:
                point.hits += 1
                if point.ignore:
                    point.ignore -= 1
                    continue
            found = found or point
        if found is not None and found.temporary:
            self.breakpoints.remove(found)
        return found

    def _holds(self, point: Breakpoint, moment: Moment) -> bool:
        """Like pdb, a condition that cannot be evaluated holds: a person is to see why."""
        if point.condition is None:
            return True
        try:
            frame = frames_of(moment.top)[-1]
            return truth(self.evaluate(point.condition, frame, moment.program))
        except Exception:  # noqa: BLE001  (whatever the user's expression raises)
            return True


def truth(value: Any) -> bool:
    """A condition's value: of a block, whether any element is true."""
    data = getattr(value, "handle", value)
    return bool(np.any(data)) if isinstance(data, (np.ndarray, np.generic)) else bool(data)


__all__ = ["EVENTS", "Breakpoint", "Points", "Watch", "truth"]
