"""`Still`: what a session is for looking, of a kernel that somebody else runs or that has ended.

It has the calls of a stack or a traceback, their names, and memory as it is. Nothing can be run: `Refused` is
what every command of that kind answers.
"""

from __future__ import annotations

import sys
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from blockstep.debugger.evaluating import evaluate
from blockstep.debugger.history import History
from blockstep.debugger.moments import Frame, Reason, Stop
from blockstep.debugger.points import Points
from blockstep.debugger.session import GridState
from blockstep.findings import Finding
from blockstep.interp import breakpoints
from blockstep.interp.memory import View
from blockstep.language.frames import is_kernel
from blockstep.options import Program
from blockstep.runtime import session
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.memory import array_of


class CannotRun(RuntimeError):
    """Somebody else runs the kernel, or nobody can any more."""


class Still:
    """The names of a session that only look, over frames that are given, outermost first."""

    seed = 0
    error: BaseException | None = None

    def __init__(self, launch: Launch, program: Program | None, frames: list[Frame]) -> None:
        self.launch, self.program = launch, program
        self.points = Points(self.evaluate)
        self.history = History(0)
        self.stop = Stop(Reason.LINE, program or (0, 0, 0), tuple(frames))
        self.position = (0, 0)
        self.lines = 1

    def evaluate(self, text: str, frame: Frame) -> Any:
        """The value of an expression over the names of a frame. Raises what it raises."""
        return evaluate(text, frame, self.launch, self.program or (0, 0, 0))

    @property
    def views(self) -> list[View]:
        """The array arguments."""
        return [v for v in self.launch.bound.space.views if v.name]

    def view(self, name: str) -> View:
        """An array argument. Raises KeyError."""
        return next(v for v in self.views if v.name == name)

    def array(self, name: str) -> Any:
        """A copy of an array argument as it is."""
        view = self.view(name)
        assert view.storage is not None
        return array_of(view, view.storage.data).copy()

    @property
    def findings(self) -> list[Finding]:
        """What has been found in this launch, where it is judged."""
        return [f for f in session.current().report.findings if f.kernel == self.launch.kernel]

    def grid_state(self) -> GridState:
        """Where this instance is; of the others nobody keeps account."""
        x, y, z = self.launch.grid
        none = np.zeros(x * y * z, bool)
        at = self.program
        here = None if at is None else at[0] + x * (at[1] + y * at[2])
        return GridState(self.launch.grid, none, none, none, none, here)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise CannotRun("the kernel is run by another debugger, or has ended: this only looks")


def frames_of_stack(frame: FrameType | None) -> list[Frame]:
    """The calls of a kernel that lead to a running frame."""
    found: list[Frame] = []
    while frame is not None:
        if is_kernel(frame.f_code):
            found.append(_frame(frame, frame.f_lineno))
        frame = breakpoints.caller_of(frame)
    return found[::-1]


def frames_of_traceback(trace: TracebackType | None) -> list[Frame]:
    """The calls of a kernel that an exception passed through."""
    found: list[Frame] = []
    while trace is not None:
        if is_kernel(trace.tb_frame.f_code):
            found.append(_frame(trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return found


def calling_frame() -> FrameType | None:
    """The nearest frame of a kernel above the caller."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_kernel(frame.f_code):
        frame = breakpoints.caller_of(frame)
    return frame


def _frame(frame: FrameType, line: int) -> Frame:
    code = frame.f_code
    return Frame(code.co_name, code.co_filename, line, dict(frame.f_locals), frame.f_globals)


__all__ = ["CannotRun", "Still", "calling_frame", "frames_of_stack", "frames_of_traceback"]
