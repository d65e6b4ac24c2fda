"""`Recorder`: a checker and a trace function that write down one run of a launch, moment by moment.

It sits in the thread of the kernel. Whether the session stops at a moment is decided by `wants`; if it
does, `arrive` hands over to the session and comes back when that lets the kernel go on.

Only calls of kernels and of jit functions that they call are traced, so a step is a line of the user's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, ClassVar

import numpy as np

from blockstep.debugger.history import History
from blockstep.debugger.moments import Born, Moment, Reason, Record, Written
from blockstep.debugger.points import Points, Watch
from blockstep.findings import Access, Finding, Site
from blockstep.interp.events import Checker, Flags
from blockstep.interp.scheduler import Scheduler
from blockstep.interp.transfer import gather
from blockstep.language.frames import is_kernel, user_site
from blockstep.language.op import Family, Op
from blockstep.language.value import tensor
from blockstep.options import Program

_SILENT = (StopIteration, GeneratorExit)  # how loops and greenlets end


class Recorder(Checker):
    """Hears of everything that one run does."""

    name: ClassVar[str] = "debugger"

    def __init__(
        self, history: History, points: Points, arrive: Callable[[Moment], None],
        wants: Callable[[Moment], bool],
    ) -> None:  # fmt: skip
        self.history, self.points = history, points
        self._arrive, self._wants = arrive, wants
        self.interrupted = False
        self.scheduler: Scheduler | None = None  # of the launch that runs: it knows who does
        self.done: set[Program] = set()
        self._tops: dict[Program, Record] = {}  # the innermost call of each instance under way
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

    def instance_end(self, program: Program) -> None:
        """A program instance is done."""
        self.done.add(program)
        self._tops.pop(program, None)

    def access(self, access: Access) -> Flags | None:
        """Keeps what a write is about to replace."""
        if access.kind != "read":
            entry = self.history.log.note(access)
            for watch in self.points.watches:
                if watch.enabled and entry is not None and entry.touches(watch.address, watch.size):
                    self._written.append((watch, _element(watch), access))
        return None

    def value(
        self, program: Program, op: Op, operands: Any, attributes: dict[str, Any], result: Any
    ) -> Any:
        """Looks for the first NaN or infinity, where somebody wants to know."""
        if self.interrupted:
            self.interrupted = False
            self._event(Reason.INTERRUPT, None)
        wanted = self.points.events & {"nan", "inf"}
        if wanted:
            born = _born(wanted, program, op, operands, result)
            if born is not None:
                self._event(Reason.BORN, born)
        return result

    def found_one(self, finding: Finding) -> None:
        """A checker has found something new."""
        if "finding" in self.points.events and finding.program is not None:
            self._event(Reason.FINDING, finding)

    # The trace function.

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """For `sys.settrace`."""
        if event != "call" or not is_kernel(frame.f_code):
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
        enters = frame in self._entered
        self._entered.discard(frame)
        before = self._frames.get(frame)
        self._came_to(self._record(frame), before, enters=enters)

    def _came_to(self, record: Record, before: Record | None, **told: Any) -> None:
        """A line, or the end of the kernel's function. What the line before wrote is told here."""
        written, self._written = self._written, []
        if written:
            told |= {"reason": Reason.WATCH, "detail": _done(written[-1])}
        elif self.interrupted:
            told |= {"reason": Reason.INTERRUPT}
            self.interrupted = False
        moment = self._moment(record, **told)
        self.history.add(moment, before)
        if moment.reason is not None or self._wants(moment):
            self._arrive(moment)

    def _leave(self, frame: FrameType, value: Any) -> None:
        record = self._frames.get(frame)
        self._entered.discard(frame)
        if record is None:
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
        log = self.history.log
        return Moment(self.history.count, self.program, top, log.count, **told)

    def _event(self, reason: Reason, detail: Any, frame: FrameType | None = None) -> None:
        """Stops in the middle of a line."""
        inner: FrameType | None = frame or sys._getframe(1)
        while inner is not None and not is_kernel(inner.f_code):
            inner = inner.f_back
        if inner is None or (inner not in self._frames and inner not in self._entered):
            return
        before = self._frames.get(inner)
        moment = self._moment(self._record(inner), reason=reason, detail=detail)
        self.history.add(moment, before)
        self._arrive(moment)

    def waiting(self) -> set[Program]:
        """Instances that have begun and are not done."""
        return set(self._tops) - self.done


def _done(written: tuple[Watch, Any, Access]) -> Written:
    watch, old, access = written
    watch.hits += 1
    span = access.site.span
    return Written(
        watch.argument, watch.index, old, _element(watch), access.program, span.file, span.line
    )


def _element(watch: Watch) -> Any:
    storage = watch.view.storage
    assert storage is not None
    return gather(storage, np.int64(watch.address), watch.view.dtype.numpy)


def _born(wanted: set[str], program: Program, op: Op, operands: Any, result: Any) -> Born | None:
    """A NaN or infinity in a result of operands that have none. Loads count: memory may hold some."""
    if type(result) is not tensor or not result.type.scalar.is_floating():
        return None
    for kind, find in (("nan", np.isnan), ("inf", np.isinf)):
        if kind not in wanted or op.family is Family.SOURCE:
            continue
        lanes = _lanes(result, find)
        if lanes is None:
            continue
        if any(_has(x, find) for x in operands):
            continue
        return _told(kind, program, op, operands, result, lanes)
    return None


def _lanes(x: tensor, find: Any) -> Any:
    """Which elements are so and defined; None: none."""
    found = find(_numbers(x))
    poison = (x.marks or {}).get("poison")
    if poison is not None:
        found = found & ~np.broadcast_to(poison.lanes, x.type.shape)
    return found if np.any(found) else None


def _numbers(x: tensor) -> Any:
    data = np.asarray(x.handle)
    return data if data.dtype.kind == "f" else data.astype(np.float32)


def _has(x: Any, find: Any) -> bool:
    return type(x) is tensor and x.type.scalar.is_floating() and _lanes(x, find) is not None


def _told(kind: str, program: Program, op: Op, operands: Any, result: tensor, lanes: Any) -> Born:
    flat = int(np.argmax(lanes))
    element = (
        tuple(int(i) for i in np.unravel_index(flat, np.shape(lanes))) if np.shape(lanes) else ()
    )
    values: list[Any] = []
    if op.family in (Family.ELEMENTWISE, Family.SELECT):
        for x in operands:
            if type(x) is tensor:
                values.append(np.broadcast_to(np.asarray(x.handle), result.type.shape)[element])
    site: Site = user_site(3)
    span = site.span
    value = float(_numbers(result)[element])
    return Born(kind, op.name, program, element, value, tuple(values), span.file, span.line)


__all__ = ["Recorder"]
