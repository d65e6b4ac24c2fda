"""What a judged launch leaves for a report with pictures: `blockstep.check(pictures=True)`, `--html`.

A launch is taken down before it runs and, if it is kept, run again afterwards for each array that it
writes, to find whose each element is; memory is then as the launch left it. Kept are the first
launch of each kernel and the launches with findings, up to `MOST`; of each only pictures of bounded
size. Nothing of this costs anything unless it is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from blockstep.findings import Deadlock, Event, Program, RaceFound, Report, Span
from blockstep.findings.captured import (
    Captured,
    MemoryPicture,
    State,
    picture_of_grid,
    picture_of_memory,
    raster_of,
)
from blockstep.interp.events import Checker
from blockstep.interp.grid.plan import Refused
from blockstep.interp.memory import View
from blockstep.language.function import JITFunction
from blockstep.runtime import gridded
from blockstep.runtime.plan import Plan

MOST = 32  # launches with pictures
MOST_ARRAYS = 8  # of one launch
LARGEST = 256 << 20  # bytes of memory: past it a launch is not run again
MOST_INSTANCES = 1 << 16  # of a launch that only the step machine can run: past it neither
BECAUSE_LARGE = "the launch's memory is larger than is copied for it"
BECAUSE_LONG = "the launch has too many program instances to run them one after another again"
BECAUSE_CHOSEN = "only some program instances ran"
BECAUSE_ENDED = "the launch did not come to its end"


class _Ended(Checker):
    """Which program instances came to their end on the step machine."""

    def __init__(self, states: Any, grid: Program) -> None:
        self._states, self._grid = states, grid

    def instance_end(self, program: Program) -> None:
        at = linear(program, self._grid)
        self._states[at] = max(self._states[at], State.DONE)


def linear(program: Program, grid: Program) -> int:
    """The linear id of a program instance, x first."""
    return program[0] + grid[0] * (program[1] + grid[1] * program[2])


@dataclass(slots=True, eq=False)
class Running:
    """A launch that is being captured: `states` by linear id."""

    captures: Captures
    report: Report
    function: JITFunction
    grid: Program
    number: int
    states: Any
    launch: Any = None
    why_not: str = ""
    found: bool = False

    def heard(self, event: Event) -> None:
        """An event of this launch, after it was filed."""
        if not self.report.knows(event.key):
            return
        self.found = True
        if event.program is not None:
            self._mark(event.program, State.FOUND)
        for partner in _partners(event):
            self._mark(partner, State.PARTNER)

    def _mark(self, program: Program, state: State) -> None:
        at = linear(program, self.grid)
        if 0 <= at < self.states.size:
            self.states[at] = max(self.states[at], state)


def _partners(event: Event) -> list[Program]:
    if isinstance(event, RaceFound):
        return [event.first.program, event.second.program]
    if isinstance(event, Deadlock):
        return [waiter.program for waiter in event.waiters]
    return []


@dataclass(slots=True, eq=False)
class Captures:
    """The pictures of a session. `precision`: kept launches are measured, too."""

    precision: bool = False
    kept: list[Captured] = field(default_factory=list)
    left_out: int = 0  # launches that would have been kept
    _seen: set[Any] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, running: Running) -> None:
        """Takes in a launch that came to its end, if it is to be kept."""
        with self._lock:
            first = running.function not in self._seen
            self._seen.add(running.function)
            if not (first or running.found):
                return
            if len(self.kept) >= MOST:
                self.left_out += 1
                return
            made = Captured(
                running.number, running.function.__name__, running.grid, _source(running.function)
            )
            self.kept.append(made)
        made.picture = picture_of_grid(running.grid, running.states)
        made.why_no_memory = running.why_not
        if not running.why_not and running.launch is not None:
            made.memory, made.why_no_memory = _memory(running.launch)
            if self.precision:
                made.precision = _measured(running.launch)


@contextmanager
def capturing(plan: Plan | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
    """Captures the launch that runs inside, if its session has pictures made. Without a plan it is
    none that is judged."""
    captures = None if plan is None else plan.current.captures
    if plan is None or plan.judge is None or captures is None:
        yield
        return
    states = np.zeros(prod(plan.grid), np.int8)
    report = plan.current.report
    running = Running(captures, report, plan.function, plan.grid, plan.number, states)
    plan.ears, plan.judge.heard = [_Ended(states, plan.grid)], running.heard
    if len(captures.kept) < MOST:
        _take(running, plan, args, kwargs)
    try:
        yield
    except BaseException:
        running.why_not, running.found = running.why_not or BECAUSE_ENDED, True
        captures.keep(running)
        raise
    if plan.machine != "step":  # which came to their end, the step machine has told
        np.maximum(states, State.DONE, out=states)
    captures.keep(running)


def _take(running: Running, plan: Plan, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    from blockstep.runtime.ladder.launch import Launch  # brings the whole compiler with it

    if plan.current.options.programs is not None:
        running.why_not = BECAUSE_CHOSEN
    elif sum(s.nbytes for s in plan.bound.space.storages if not s.readonly) > LARGEST:
        running.why_not = BECAUSE_LARGE
    else:
        running.launch = Launch(
            plan.function, args, kwargs, plan.bound, plan.grid, plan.options, plan.host, plan.number
        )


def _source(function: JITFunction) -> Span:
    source = function.prepared.source
    first = min([n.lineno for n in source.tree.decorator_list], default=source.line)
    last = source.tree.end_lineno or source.line
    return Span(source.file, first, 0, last, 0, source.tree.name)


def _memory(launch: Any) -> tuple[list[MemoryPicture], str]:
    """Pictures of the arrays that a launch writes; why there are none, if there is a reason."""
    from blockstep.debugger.blame import memory_map

    views = [(n, v) for n, v in launch.arguments.items() if isinstance(v, View) and v.storage]
    try:
        _, plan = gridded.compiled(launch.function, launch.bound, int(launch.told["num_warps"]))
        if plan.written is not None:
            views = [(n, v) for n, v in views if n in plan.written]
    except Refused:
        if prod(launch.grid) > MOST_INSTANCES:
            return [], BECAUSE_LONG
    pictures = []
    for name, view in views[:MOST_ARRAYS]:
        writers = memory_map(launch, name).writers
        if (writers >= 0).any() or not writers.size:
            text = view.type_text.partition(" with strides")[0]
            pictures.append(picture_of_memory(name, text, writers))
    rest = [
        MemoryPicture(n, v.type_text, tuple(v.shape), raster_of(tuple(v.shape)), because="left out")
        for n, v in views[MOST_ARRAYS:]
    ]
    return pictures + rest, ""


def _measured(launch: Any) -> Any:
    """The launch with float64 shadows; memory is afterwards as it was found."""
    from blockstep.debugger.blame.running import aside
    from blockstep.runtime.ladder.machines import KERNEL_ERRORS
    from blockstep.runtime.precision import measure

    with aside(launch):
        try:
            return measure(launch, tries=False)
        except KERNEL_ERRORS:  # what is wrong with the kernel its findings say
            return None


__all__ = ["Captures", "Running", "linear"]
