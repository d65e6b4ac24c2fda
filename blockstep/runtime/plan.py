"""A launch that was accepted, and how each of the machines without a device runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from blockstep import diagnostics, target
from blockstep.findings import Event, GridLimit, Span
from blockstep.findings.precision_bounds import ErrorBound
from blockstep.interp.checkers import checkers_for
from blockstep.interp.events import Checker, Launched
from blockstep.interp.followed import FollowedMachine
from blockstep.interp.grid.plan import Refused
from blockstep.interp.marks import KIND_OF
from blockstep.interp.scheduler import Program, Scheduler
from blockstep.interp.step import StepMachine
from blockstep.language.function import JITFunction
from blockstep.options import PTX
from blockstep.runtime import execution, gridded, session
from blockstep.runtime.arguments import Bound
from blockstep.runtime.gpu.binary import Binary


@dataclass(slots=True, eq=False)
class Judge:
    """Files the events of one launch."""

    current: session.Session
    heard: Callable[[Event], None] | None = None  # who else hears of what was filed

    def __call__(self, event: Event) -> None:
        diagnostics.record(self.current.report, event)
        if self.heard is not None:
            self.heard(event)


@dataclass(slots=True, eq=False)
class Plan:
    """A launch that was accepted and can be run, under any seed."""

    function: JITFunction
    body: Callable[..., Any]
    bound: Bound
    grid: Program
    options: dict[str, Any]
    host: Span | None
    current: session.Session
    judge: Judge | None
    number: int
    binary: Binary | None = None  # the kernel compiled for the ptx machine, if that is to run it

    machine: str = "step"  # the one that ran it
    because: str | None = None  # why not the grid machine
    ears: Sequence[Checker] = ()  # what the step machine has to tell beside its checkers

    @property
    def kernel(self) -> str:
        return self.function.__name__

    def run(self, seed: int) -> int:
        """Runs every program instance; how many finished."""
        __tracebackhide__ = True
        if self.binary is not None:
            return self._on_ptx(self.binary, seed)
        chosen = self.current.options
        if chosen.bounds and self._judged():
            self._bounded(chosen.bounds)
        sanitize = bool(self.options["debug"] and self.options["sanitize_overflow"])
        self.because = gridded.needs_step(self.current)
        if sanitize and self.because is None:
            self.because = "`debug=True` stops at the first overflow"
        if self.because is None and self._on_grid(seed):
            self.machine = "grid"
            return self.grid[0] * self.grid[1] * self.grid[2]
        scheduler = Scheduler(self.grid, seed=seed, only=chosen.programs)
        report, judged = self.current.report, self._judged()
        follows = judged and report.wants("precision")
        machine = (FollowedMachine if follows else StepMachine)(
            self.kernel, self.grid, self.bound.space, scheduler, target.current(),
            self.options["num_warps"], (), self.judge, self.host, self.number,
            _watched(self.current) if judged or self._looked_at() else frozenset(),
            sanitize,
        )  # fmt: skip
        if self.judge is not None:
            wants = report.wants if judged else _nothing
            machine.checkers = [*checkers_for(wants, self.current.outputs), *self.ears]
        execution.execute(machine, self.body, self.bound, self.current)
        return scheduler.finished

    def _looked_at(self) -> bool:
        """Whether somebody may look at values, and wants to know which elements are undefined."""
        return self.current.on_instance is not None or gridded.debugged()

    def _bounded(self, bounds: tuple[ErrorBound, ...]) -> None:
        """The launch once more, with shadows, before it runs: memory is then as it was."""
        from blockstep.runtime.ladder.launch import Launch  # it brings the whole compiler with it
        from blockstep.runtime.precision_bounds import check

        assert self.judge is not None
        launch = Launch(
            self.function, (), {}, self.bound, self.grid, self.options, self.host, self.number
        )
        check(launch, bounds, self.judge)

    def _judged(self) -> bool:
        filters = self.current.report.filters
        return self.judge is not None and filters.judges(self.kernel, self.number)

    def _launched(self, seed: int) -> Launched:
        judge = self.judge or (lambda event: None)
        return Launched(
            judge, self.kernel, self.grid, self.bound.space, self.host, self.number, seed, True
        )

    def _on_ptx(self, binary: Binary, seed: int) -> int:
        from blockstep.runtime.ptx import machine as ptx  # not for launches on other machines

        self.machine = PTX
        watchers = self.current.watchers(self.kernel, binary) if self.current.watchers else ()
        ptx.run(
            binary, self.bound, self._launched(seed), seed, self.judge, self._judged(), watchers
        )
        return self.grid[0] * self.grid[1] * self.grid[2]

    def _on_grid(self, seed: int) -> bool:
        launched, warps = self._launched(seed), self.options["num_warps"]
        try:
            gridded.run(self.function, self.bound, launched, self.current, self._judged(), warps)
        except Refused as refusal:
            self.because = str(refusal)
            return False
        return True


def _nothing(kind: str) -> bool:
    """What is wanted of a launch that the filters leave out: it only runs safely."""
    return False


def _watched(current: session.Session) -> frozenset[str]:
    return frozenset(m for m, kind in KIND_OF.items() if current.report.wants(kind))


def fits(
    grid: Program,
    device: target.Target,
    judge: Judge,
    name: str,
    host: Span | None,
    number: int,
) -> bool:
    """Reports a grid past the device's limits; such a launch does not run."""
    total = grid[0] * grid[1] * grid[2]
    limit = device.grid_product_limit
    over = [i for i in range(3) if grid[i] > device.grid_limits[i]]
    if not over and (limit is None or total <= limit):
        return True
    axis = over[0] if over else -1
    size, most = (grid[axis], device.grid_limits[axis]) if over else (total, limit or 0)
    judge(
        GridLimit(
            span=host or Span("", 0),
            kernel=name,
            grid=grid,
            host=host,
            launch=number,
            axis=axis,
            size=size,
            limit=most,
            device=device.title,
        )  # fmt: skip
    )
    return False
