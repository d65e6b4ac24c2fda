"""Who stored an element: the last store or atomic of the step machine that covers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep import target
from blockstep.findings import Access, Event, Program, Span
from blockstep.interp.checkers.bounds import Bounds
from blockstep.interp.events import Checker, Flags
from blockstep.interp.scheduler import Scheduler
from blockstep.interp.step import StepMachine
from blockstep.language.frames import callers_of
from blockstep.options import Options
from blockstep.runtime import execution, session
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.machines import KERNEL_ERRORS, silent
from blockstep.runtime.ladder.outcome import Mismatch


@dataclass(frozen=True, slots=True)
class Writer:
    """The place of a store, the operation as a message calls it, and the program instance."""

    span: Span
    op: str = ""
    program: Program | None = None
    callers: tuple[Span, ...] = ()


class _Writers(Checker):
    """Remembers the last access that writes to some bytes."""

    def __init__(self, address: int, size: int) -> None:
        self.low, self.high = address, address + size
        self.last: Access | None = None

    def access(self, access: Access) -> Flags | None:
        """Nothing is skipped."""
        if access.kind == "read":
            return None
        addresses: Any = access.addresses
        hit = (addresses < self.high) & (addresses + access.itemsize > self.low)
        if access.mask is not None:
            hit = hit & access.mask
        if np.any(hit):
            self.last = access
        return None


def writer_of(launch: Launch, found: Mismatch) -> Writer | None:
    """Who stores the element on the step machine; None where nobody does. Memory is put back."""
    writers = _Writers(found.address, found.itemsize)
    try:
        listen(launch, writers)
    finally:
        launch.memory.restore()
    if writers.last is None:
        return None
    access = writers.last
    return Writer(access.site.span, f"`{access.op}`", access.program, callers_of(access.site))


def listen(launch: Launch, *checkers: Checker) -> list[Event]:
    """Runs a launch on the step machine with checkers; the events of accesses out of bounds."""
    events: list[Event] = []

    def tell(event: Event) -> None:
        events.append(event)

    machine = StepMachine(
        launch.kernel, launch.grid, launch.bound.space, Scheduler(launch.grid, seed=0),
        target.current(), launch.told["num_warps"], [Bounds(), *checkers], tell,
        launch.host,
    )  # fmt: skip
    quiet = session.make(Options(machine="step"))
    with session.using(quiet), silent():
        try:
            execution.execute(machine, launch.function.body, launch.bound, quiet)
        except KERNEL_ERRORS:
            return events  # what was heard until then is what there is
    return events


__all__ = ["Writer", "listen", "writer_of"]
