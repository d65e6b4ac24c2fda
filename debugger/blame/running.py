"""Runs of a launch whose accesses and operations are written down, beside whatever else goes on."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Protocol

from blockstep import target
from blockstep.findings import Event
from blockstep.interp.blame.log import WriteLog
from blockstep.interp.blame.machine import RecordingMachine
from blockstep.interp.blame.tape import Enough
from blockstep.interp.checkers.bounds import Bounds
from blockstep.interp.memory import Storage, View
from blockstep.interp.scheduler import Program, Scheduler
from blockstep.options import Options
from blockstep.runtime import execution, session
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.machines import KERNEL_ERRORS, error_text, silent


@dataclass(frozen=True, slots=True)
class Target:
    """An element of an argument that is asked about."""

    name: str
    index: tuple[int, ...]
    view: View
    storage: Storage
    address: int

    @property
    def end(self) -> int:
        """The address after its last byte."""
        return self.address + self.view.itemsize


def view_of(launch: Launch, name: str) -> View:
    """The array argument of that name. Raises LookupError."""
    views: dict[str, View] = {}
    for argument in launch.bound.arguments:
        for part in argument.walk():
            if part.view is not None:
                views[part.name] = part.view
    if name not in views:
        known = ", ".join(views) or "none"
        raise LookupError(f"the launch has no array argument `{name}`; it has {known}")
    return views[name]


def target_of(launch: Launch, name: str, index: Sequence[int]) -> Target:
    """An element by its index in the argument as it was passed. Raises LookupError, IndexError."""
    view, at = view_of(launch, name), tuple(int(i) for i in index)
    if len(at) != len(view.shape):
        raise IndexError(f"`{name}` has {len(view.shape)} dimensions, {len(at)} were given")
    for i, n in zip(at, view.shape, strict=True):
        if not 0 <= i < n:
            raise IndexError(f"{name}[{', '.join(map(str, at))}] is outside of {view.type_text}")
    assert view.storage is not None
    address = view.footprint.base + sum(at[axis] * step for axis, _, step in view.footprint.axes)
    return Target(name, at, view, view.storage, address)


@contextmanager
def aside(launch: Launch) -> Iterator[None]:
    """Memory is as before the launch; afterwards it is put back as it was found."""
    found = [s for s in launch.bound.space.storages if not s.readonly]
    kept = [(s.data, s.data.copy()) for s in found]
    flags = [(s.written, s.written.copy()) for s in found if s.written is not None]
    launch.memory.restore()
    try:
        yield
    finally:
        launch.memory.restore()
        for now, before in (*kept, *flags):
            now[...] = before


@contextmanager
def _traced(tracer: Tracer | None, scheduler: Scheduler) -> Iterator[None]:
    before = sys.gettrace()
    if tracer is not None:
        tracer.scheduler = scheduler
        sys.settrace(tracer.trace)
    try:
        yield
    finally:
        if tracer is not None:
            sys.settrace(before)


class Tracer(Protocol):
    """Looks at the lines of a run."""

    scheduler: Scheduler | None

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """For `sys.settrace`."""


def run(
    launch: Launch, log: WriteLog, seed: int, programs: Sequence[Program] | None,
    tracer: Tracer | None = None,
) -> str:  # fmt: skip
    """Runs instances (None: all) on the step machine, one after another. What the kernel may end in,
    it ends in: then the log has what was done until there, and the answer says in what."""

    def unheard(event: Event) -> None:
        pass

    scheduler = Scheduler(launch.grid, seed=seed, order=programs)
    log.grid = launch.grid
    quiet: Any = session.make(Options(machine="step"))
    machine = RecordingMachine(
        launch.kernel, launch.grid, launch.bound.space, scheduler, target.current(),
        int(launch.told["num_warps"]), [Bounds(), log], unheard, launch.host, log=log,
    )  # fmt: skip
    with session.using(quiet), silent(), _traced(tracer, scheduler):
        try:
            execution.execute(machine, launch.function.body, launch.bound, quiet)
        except Enough:
            pass
        except KERNEL_ERRORS as error:
            return error_text(error)
    return ""


__all__ = ["Target", "aside", "run", "target_of", "view_of"]
