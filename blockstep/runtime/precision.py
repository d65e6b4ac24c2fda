"""`blockstep.precision(...)` for one launch, and `Measurer`, which stands in for the launcher of a script.

A launch is run with float64 shadows (on the grid machine, or on the step machine where that does not
take it), memory is put back, and each decision about precision is tried without. A reference that somebody
has decides between drift and bug.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep import target
from blockstep.interp.events import Launched
from blockstep.interp.followed import FollowedMachine
from blockstep.interp.grid.memory import Suspicion
from blockstep.interp.grid.plan import Refused
from blockstep.interp.memory import View
from blockstep.interp.scheduler import Scheduler
from blockstep.interp.shadows import launching
from blockstep.interp.shadows.follow import Shadows
from blockstep.interp.shadows.records import ShadowResult
from blockstep.language.function import current_launcher
from blockstep.language.function import launching as standing_in
from blockstep.options import Options
from blockstep.runtime import execution, gridded, session
from blockstep.runtime.ladder.launch import Launch, StandIn
from blockstep.runtime.whatif.comparing import NAMES, Table, compare_launch
from blockstep.runtime.whatif.fast import cost_of_fast
from blockstep.runtime.whatif.measuring import Cost, Measured
from blockstep.runtime.whatif.measuring import measure as tried_all
from blockstep.runtime.whatif.running import Repeated
from blockstep.runtime.whatif.verdict import Judge, Verdict
from blockstep.runtime.whatif.widening import NotWidened


@dataclass(slots=True, eq=False)
class PrecisionReport:
    """What was measured of one launch; `str()` is what a person reads."""

    kernel: str
    grid: tuple[int, int, int]
    result: ShadowResult
    measured: Measured | None = None
    verdicts: Sequence[Verdict] = ()
    not_tried: str = ""  # why no decision was tried

    def __str__(self) -> str:
        return self.text()

    def text(self, top: int | None = None) -> str:
        """What a person reads; of decisions, the `top` dearest."""
        from blockstep.diagnostics.precision_report import text_of

        return text_of(self) if top is None else text_of(self, top)

    @property
    def costs(self) -> Sequence[Cost]:
        """What each decision costs, the dearest first."""
        return () if self.measured is None else self.measured.costs

    def _repr_html_(self) -> str:
        from blockstep.page.notebook import of_precision

        return of_precision(self)

    @property
    def lines(self) -> Any:
        """Records by operation, in the order of the source."""
        return self.result.lines

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        from blockstep.diagnostics.precision_report import json_of

        return json_of(self)


def measure(
    launch: Launch, *, every: bool = False, tries: bool = True, compiled: bool = False,
    reference: Mapping[str, Any] | None = None,
) -> PrecisionReport:  # fmt: skip
    """Measures a launch; memory is as before it at the end. `every`: all program instances carry shadows,
    also of large launches. `compiled`: fast code is tried against exact code, too. Raises what the launch
    raises."""
    warps = int(launch.told["num_warps"])
    measured: Measured | None = None
    share, reason = 1.0, ""
    try:
        ir, plan = gridded.compiled(launch.function, launch.bound, warps)
        if not every and reference is None:
            share = launching.share_of(ir, launch.grid)
        found = launching.on_grid(ir, plan, launch.arguments, launch.grid, share)
    except (Refused, Suspicion) as refused:
        launch.memory.restore()
        reason = str(refused) or "only the step machine can follow its addresses"
        found = _on_step(launch, reason)
    finally:
        launch.memory.restore()
    if tries and found.lines and not reason:
        try:
            measured = tried(Repeated(launch, share), compiled)
        except NotWidened as refused:
            reason = str(refused)
    verdicts = _verdicts(launch, found, reference) if reference else []
    return PrecisionReport(launch.kernel, launch.grid, found, measured, verdicts, reason)


def tried(repeated: Repeated, compiled: bool) -> Measured:
    """What each decision costs. Raises NotWidened."""
    measured = tried_all(repeated)
    if compiled and not measured.exact:
        measured.add(cost_of_fast(measured))
    return measured


def _on_step(launch: Launch, reason: str) -> ShadowResult:
    shadows = Shadows()
    quiet = session.make(Options(machine="step", judged=False))
    machine = FollowedMachine(
        launch.kernel, launch.grid, launch.bound.space, Scheduler(launch.grid), target.current(),
        int(launch.told["num_warps"]), (shadows,), lambda event: None, launch.host, launch.number,
        frozenset({"poison"}),
    )  # fmt: skip
    shadows.launch(Launched(lambda event: None, launch.kernel, launch.grid, launch.bound.space))
    with session.using(quiet):
        execution.execute(machine, launch.function.body, launch.bound, quiet)
    views = [v for v in launch.arguments.values() if isinstance(v, View)]
    total = launch.grid[0] * launch.grid[1] * launch.grid[2]
    found = launching.result(launch.kernel, shadows.tally, shadows.memory, views, total, total)
    found.machine, found.because = "step", reason
    return found


def _verdicts(launch: Launch, found: ShadowResult, references: Mapping[str, Any]) -> list[Verdict]:
    """Of the references, those that are of outputs of the launch. Raises ValueError for another shape."""
    judge = Judge(launch)
    return [
        judge.judge(found.outputs[name], np.asarray(given))
        for name, given in references.items()
        if name in found.outputs
    ]


@dataclass(slots=True, eq=False)
class Measurer(StandIn):
    """Measures each launch that it is given, then launches it as usual. `judges` says which."""

    told: Callable[[PrecisionReport], None] = lambda report: None
    every: bool = False
    compiled: bool = False
    references: Mapping[str, Any] = field(default_factory=dict)
    formats: Sequence[str] = ()  # with some, launches are compared in them instead
    compared: Callable[[Table | str], None] = lambda table: None  # a table, or why there is none
    tables: list[Table] = field(default_factory=list)
    reports: list[PrecisionReport] = field(default_factory=list)

    def look(self, launch: Launch) -> None:
        """Measures a launch, or compares it in several formats."""
        if self.formats:
            self._compare(launch)
            return
        found = measure(
            launch, every=self.every, compiled=self.compiled, reference=self.references or None
        )
        self.reports.append(found)
        self.told(found)

    def _compare(self, launch: Launch) -> None:
        try:
            table = compare_launch(launch, self.formats)
        except NotWidened as reason:
            if not self.runs:
                raise
            self.compared(f"{launch.kernel}, grid {launch.grid}: not compared: {reason}")
            return
        self.tables.append(table)
        self.compared(table)

    @property
    def unused(self) -> list[str]:
        """References that no launch wrote to."""
        judged = {v.output for report in self.reports for v in report.verdicts}
        return [name for name in self.references if name not in judged]


def precision(
    kernel: Any, args: Sequence[Any] = (), *, grid: Any, reference: Mapping[str, Any] | None = None,
    every: bool = False, compiled: bool = False, **kwargs: Any,
) -> PrecisionReport:  # fmt: skip
    """Where a launch loses precision, and to what: numbers by source line against float64, what each
    decision about types costs, and for outputs of which a `reference` is given (by parameter name)
    whether they differ by rounding or by a mistake. Nothing is written to the arguments."""
    measurer = Measurer(
        every=every, compiled=compiled, references=dict(reference or {}), runs=False,
        before=current_launcher(),
    )  # fmt: skip
    with standing_in(measurer):
        kernel[grid](*args, **kwargs)
    report = measurer.reports[-1]
    if measurer.unused:
        known = ", ".join(f"`{n}`" for n in report.result.outputs) or "nothing"
        raise KeyError(f"the launch writes no floats to `{measurer.unused[0]}`; it writes {known}")
    return report


def compare_formats(
    kernel: Any, args: Sequence[Any] = (), *, grid: Any, formats: Sequence[str] = NAMES,
    **kwargs: Any,
) -> Table:  # fmt: skip
    """One launch in several float formats, each held to the launch as it is given in float64."""
    measurer = Measurer(formats=tuple(formats), runs=False, before=current_launcher())
    with standing_in(measurer):
        kernel[grid](*args, **kwargs)
    return measurer.tables[-1]


__all__ = ["Measurer", "PrecisionReport", "Verdict", "compare_formats", "measure", "precision"]
