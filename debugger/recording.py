"""`Recorder`: a checker and a trace function that write down one run of a launch, moment by moment.

It sits in the thread of the kernel. Whether the session stops at a moment is decided by `wants`; if it
does, `arrive` hands over to the session and comes back when that lets the kernel go on.

Only the user's kernels and the jit functions of his that they call are traced, so a step is a line of the
user's. Before the instance `first` begins the recorder only follows calls: nothing is kept and nothing
stops the session but an exception, or somebody who asks for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, ClassVar

import numpy as np

from blockstep.debugger.births import born_in
from blockstep.debugger.history import History
from blockstep.debugger.memory_log import Entry
from blockstep.debugger.moments import WITHIN_LINE, Moment, Reason, Record, Strayed, Written
from blockstep.debugger.points import Points, Watch
from blockstep.findings import Access, Finding
from blockstep.interp.events import Checker, Flags
from blockstep.interp.scheduler import Scheduler
from blockstep.interp.transfer import gather
from blockstep.language.frames import is_kernel, is_ours
from blockstep.language.op import Op
from blockstep.options import Program

_SILENT = (StopIteration, GeneratorExit)  # how loops and greenlets end


class Abandoned(BaseException):
    """Ends a kernel that nobody wants to go on with."""


class Recorder(Checker):
    """Hears of everything that one run does. `first`: the instance with which the record begins.

    `sought` are elements, by address and size, of which only the last write is wanted: `last_sought` is the
    number of the line that made it."""

    name: ClassVar[str] = "debugger"

    def __init__(
        self, history: History, points: Points, arrive: Callable[[Moment], None],
        wants: Callable[[Moment], bool], first: Program | None = None,
    ) -> None:  # fmt: skip
        self.history, self.points = history, points
        self._arrive, self._wants = arrive, wants
        self.first = first
        self.asleep = first is not None
        self.interrupted = False  # somebody wants to stop at the next line
        self.ended = False  # nobody wants to go on
        self._halts = False
        self.sought: Sequence[tuple[int, int]] = ()
        self.last_sought: int | None = None
        self.scheduler: Scheduler | None = None  # of the launch that runs: it knows who does
        self.done: set[Program] = set()
        self._tops: dict[Program, Record] = {}  # the innermost call of each instance under way
        self._lines: dict[Program, int] = {}  # the number of the line that each of them runs
        self._count = 0  # of lines
        self._frames: dict[FrameType, Record] = {}  # what was recorded of a running frame
        self._entered: set[FrameType] = set()  # calls of which no line was recorded
        self._written: list[tuple[Watch, Any, Access]] = []  # before the write is done
        self._raised: BaseException | None = None

    @property
    def program(self) -> Program:
        """The instance that runs."""
        assert self.scheduler is not None, "set before the launch runs"
        return self.scheduler.program

    # The checker.

    def instance(self, program: Program) -> None:
        """A program instance begins."""
        self._tops.pop(program, None)
        if program == self.first:
            self.asleep = False

    def instance_end(self, program: Program) -> None:
        """A program instance is done."""
        self.done.add(program)
        self._tops.pop(program, None)
        self._lines.pop(program, None)

    def access(self, access: Access) -> Flags | None:
        """Keeps what a write is about to replace."""
        if access.kind != "read" and not self.asleep:
            entry = self.history.log.note(access, self._line_of(access.program))
            if entry is not None:
                self._noticed(entry, access)
        return None

    def _noticed(self, entry: Entry, access: Access) -> None:
        if any(entry.touches(*element) for element in self.sought):
            self.last_sought = entry.line
        for watch in self.points.watches:
            if watch.enabled and entry.touches(watch.address, watch.size):
                self._written.append((watch, _element(watch), access))

    def _line_of(self, program: Program) -> int:
        """The number of the line that an instance runs; a moment is made for a line that it was at
        before the record began."""
        if program not in self._lines:
            self._add_line(self._moment(self._tops[program]), None)
        return self._lines[program]

    def _add_line(self, moment: Moment, before: Record | None) -> None:
        self._lines[moment.program] = self._count = moment.lines
        self.history.add(moment, before)

    def value(
        self, program: Program, op: Op, operands: Any, attributes: dict[str, Any], result: Any
    ) -> Any:
        """Looks for the first NaN or infinity, where somebody wants to know."""
        if self.ended:
            raise Abandoned
        wanted = self.points.events & {"nan", "inf"}
        if wanted and not self.asleep:
            born = born_in(wanted, program, op, operands, result)
            if born is not None:
                self._event(Reason.BORN, born)
        return result

    def found_one(self, finding: Finding) -> None:
        """A checker has found something new."""
        if "finding" in self.points.events and finding.program is not None and not self.asleep:
            self._event(Reason.FINDING, finding)

    def strayed(self, strayed: Strayed) -> None:
        """An operation's error passes the bound."""
        if not self.asleep:
            self._event(Reason.ERROR, strayed)

    def halt(self) -> None:
        """The kernel itself calls `breakpoint()`."""
        self._halts = not self.asleep

    # The trace function.

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """For `sys.settrace`."""
        code = frame.f_code
        if event != "call" or not is_kernel(code) or is_ours(code.co_filename):
            return None
        self._entered.add(frame)
        return self._local

    def _local(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._line(frame)
        elif event == "return":
            self._leave(frame, arg)
        elif event == "exception" and self._raised is not arg[1]:
            if not isinstance(arg[1], _SILENT) and issubclass(arg[0], Exception):
                self._raised = arg[1]
                if "exception" in self.points.events:
                    self._event(Reason.EXCEPTION, arg[1], frame)
        return self._local

    def _line(self, frame: FrameType) -> None:
        if self.ended:
            raise Abandoned
        enters = frame in self._entered
        self._entered.discard(frame)
        before = self._frames.get(frame)
        self._came_to(self._record(frame), before, enters=enters)

    def _came_to(self, record: Record, before: Record | None, **told: Any) -> None:
        """A line, or the end of the kernel's function. What the line before wrote is told here."""
        if self.interrupted:
            told |= {"reason": Reason.INTERRUPT}
            self.interrupted = self.asleep = False
        if self.asleep:
            return
        if self._halts:
            told, self._halts = {"reason": Reason.BREAKPOINT, **told}, False
        mine = [w for w in self._written if w[2].program == self.program]
        if mine:
            self._written = [w for w in self._written if w[2].program != self.program]
            told |= {"reason": Reason.WATCH, "detail": _done(mine[-1])}
        moment = self._moment(record, **told)
        self._add_line(moment, before)
        if self._wants(moment):
            self._arrive(moment)

    def _leave(self, frame: FrameType, value: Any) -> None:
        record = self._frames.get(frame)
        self._entered.discard(frame)
        if record is None or self.ended:
            return
        if record.parent is not None:
            self._tops[self.program] = record.parent
        elif self._raised is None:
            self._came_to(self._record(frame), record, ends=True)
        del self._frames[frame]

    def _record(self, frame: FrameType) -> Record:
        """The call as it is now; it becomes the innermost one of its instance."""
        known = self._frames.get(frame)
        parent = known.parent if known is not None else self._tops.get(self.program)
        made = Record(
            parent, frame.f_code, frame.f_lineno, dict(frame.f_locals), frame.f_globals,
            0 if parent is None else parent.depth + 1,
        )  # fmt: skip
        self._frames[frame] = self._tops[self.program] = made
        return made

    def _moment(self, top: Record, **told: Any) -> Moment:
        lines = self._count + (told.get("reason") not in WITHIN_LINE)
        log = self.history.log
        return Moment(self.history.count, lines, self.program, top, log.count, **told)

    def _event(self, reason: Reason, detail: Any, frame: FrameType | None = None) -> None:
        """Stops in the middle of a line."""
        inner: FrameType | None = frame or sys._getframe(1)
        while inner is not None and inner not in self._frames and inner not in self._entered:
            inner = inner.f_back
        if inner is None:
            return  # it is about the launch, not about a line
        self.asleep = False
        before = self._frames.get(inner)
        record = self._record(inner)
        self._line_of(self.program)
        moment = self._moment(record, reason=reason, detail=detail)
        self.history.add(moment, before)
        if self._wants(moment):
            self._arrive(moment)

    def waiting(self) -> set[Program]:
        """Instances that have begun and are not done."""
        return set(self._tops) - self.done


def _done(written: tuple[Watch, Any, Access]) -> Written:
    watch, old, access = written
    span = access.site.span
    return Written(
        watch.argument, watch.index, old, _element(watch), access.program, span.file, span.line
    )


def _element(watch: Watch) -> Any:
    storage = watch.view.storage
    assert storage is not None
    return gather(storage, np.int64(watch.address), watch.view.dtype.numpy)


__all__ = ["Abandoned", "Recorder"]
