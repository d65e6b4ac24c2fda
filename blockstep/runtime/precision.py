"""`blockstep.precision(...)` for one launch, and `Measurer`, which stands in for the launcher of a script.

A launch is run with float64 shadows (on the grid machine, or on the step machine where that does not
take it), memory is put back, and each decision about precision is tried without. A reference that somebody
has decides between drift and bug.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from blockstep import target
from blockstep.interp.bound import Unbounded
from blockstep.interp.bounds.ranges import widened
from blockstep.interp.events import Launched
from blockstep.interp.followed import FollowedMachine
from blockstep.interp.grid.memory import Suspicion
from blockstep.interp.grid.plan import Refused
from blockstep.interp.memory import View
from blockstep.interp.scheduler import Scheduler
from blockstep.interp.shadows import launching
from blockstep.interp.shadows.follow import Shadows
from blockstep.interp.shadows.records import OutputRecord, ShadowResult
from blockstep.language import frames
from blockstep.language.function import JITFunction, current_launcher
from blockstep.language.function import launching as standing_in
from blockstep.options import Options
from blockstep.runtime import execution, gridded, session
from blockstep.runtime.ladder.launch import Launch, take

Index = tuple[int, ...]
Answer = Literal["equal", "drift", "bug", "undecided"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """An output against a reference. *Drift*: every element lies between the kernel's value and what it
    would be without rounding, give or take what a legal compilation may change. *Bug*: `index` does not;
    *undecided*: it may, since a decision of the kernel lies within rounding."""

    output: str
    answer: Answer
    elements: int
    differ: int
    outside: int
    undecided: int
    index: Index = ()
    value: float = 0.0
    reference: float = 0.0
    shadow: float = 0.0
    low: float = 0.0
    high: float = 0.0


@dataclass(slots=True, eq=False)
class PrecisionReport:
    """What was measured of one launch; `str()` is what a person reads."""

    kernel: str
    grid: tuple[int, int, int]
    result: ShadowResult
    costs: Sequence[launching.Cost] = ()
    verdicts: Sequence[Verdict] = ()
    not_tried: str = ""  # why no decision was tried

    def __str__(self) -> str:
        from blockstep.diagnostics.precision_report import text_of

        return text_of(self)

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
    launch: Launch, *, every: bool = False, tries: bool = True,
    reference: Mapping[str, Any] | None = None,
) -> PrecisionReport:  # fmt: skip
    """Measures a launch; memory is as before it at the end. `every`: all program instances carry shadows,
    also of large launches. Raises what the launch raises."""
    warps = int(launch.told["num_warps"])
    costs: Sequence[launching.Cost] = ()
    reason = ""
    try:
        ir, plan = gridded.compiled(launch.function, launch.bound, warps)
        whole = every or reference is not None
        share = 1.0 if whole else launching.share_of(ir, launch.grid)
        found = launching.on_grid(ir, plan, launch.arguments, launch.grid, share)
        launch.memory.restore()
        if tries and found.lines:
            costs = launching.costs(
                ir, plan, launch.arguments, launch.grid, found, share, launch.memory.restore
            )
    except (Refused, Suspicion) as refused:
        launch.memory.restore()
        reason = str(refused) or "only the step machine can follow its addresses"
        found = _on_step(launch, reason)
    finally:
        launch.memory.restore()
    verdicts = [
        _verdict(launch, found, name, np.asarray(given))
        for name, given in (reference or {}).items()
    ]
    return PrecisionReport(launch.kernel, launch.grid, found, costs, verdicts, reason)


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


def _verdict(launch: Launch, found: ShadowResult, name: str, reference: Any) -> Verdict:
    """Raises KeyError for an output that the launch did not write, ValueError for another shape."""
    if name not in found.outputs:
        known = ", ".join(found.outputs) or "none"
        raise KeyError(f"the launch writes no floats to `{name}`; it writes {known}")
    made = found.outputs[name]
    if tuple(reference.shape) != tuple(made.shape):
        raise ValueError(f"the reference of `{name}` is {reference.shape}, not {made.shape}")
    right = _wide(reference).reshape(-1)[made.at]
    view = next(v for v in launch.arguments.values() if isinstance(v, View) and v.name == name)
    value = widened(made.values, view.dtype)
    low, high, open_ = _limits(launch, made, value)
    slack = _own_rounding(right, reference.dtype, value, made.shadow)
    with np.errstate(all="ignore"):
        inside = (right >= np.fmin(low, made.shadow) - slack) & (
            right <= np.fmax(high, made.shadow) + slack
        )
    same = (right == value) | (np.isnan(right) & np.isnan(value))
    outside = ~inside & ~same
    wrong = outside & ~open_
    chosen = wrong if wrong.any() else outside if outside.any() else ~same
    flat = int(np.argmax(np.where(chosen, np.abs(right - value), -1.0))) if chosen.any() else 0
    answer: Answer = (
        "bug"
        if wrong.any()
        else "undecided"
        if outside.any()
        else "drift"
        if (~same).any()
        else "equal"
    )
    return Verdict(
        name, answer, made.elements, int((~same).sum()), int(wrong.sum()),
        int((outside & open_).sum()),
        tuple(int(i) for i in np.unravel_index(int(made.at[flat]), made.shape)),
        float(value[flat]), float(right[flat]), float(made.shadow[flat]), float(low[flat]),
        float(high[flat]),
    )  # fmt: skip


def _wide(array: Any) -> Any:
    return np.asarray(array, np.float64)


_MARGIN = 8  # how much worse than the typical element the worst one may be off


def _own_rounding(right: Any, dtype: Any, value: Any, shadow: Any) -> Any:
    """How far a reference may be off itself: a unit in the last place of its type, and what a sum in
    that type loses. That is taken from the kernel, which sums the same terms: its typical error, as
    much smaller as the reference's type is finer."""
    bits = _fraction(dtype)
    with np.errstate(all="ignore"):
        off = np.where(np.isfinite(value) & np.isfinite(shadow), value - shadow, 0.0)
        typical = float(np.sqrt(np.mean(off**2)))
        finer = max(min(1.0, 2.0 ** (_fraction(np.dtype(np.float32)) - bits)), 2.0**-10)
        return np.abs(right) * 2.0**-bits + _MARGIN * typical * finer


def _fraction(dtype: Any) -> int:
    """Bits of the fraction of a reference's type."""
    if dtype.name == "bfloat16":
        return 7
    return {2: 10, 4: 23}.get(dtype.itemsize, 52) if dtype.kind == "f" else 52


def _limits(launch: Launch, made: OutputRecord, value: Any) -> tuple[Any, Any, Any]:
    """Where a legal compilation may find each element, and which of them hang on a decision."""
    try:
        bounds = launch.bounds(exact=False)[made.name]
    except Unbounded:
        return value, value, np.zeros(len(value), bool)
    finally:
        launch.memory.restore()
    low, high = bounds.low.reshape(-1)[made.at], bounds.high.reshape(-1)[made.at]
    flags = np.asarray(bounds.flags).reshape(-1)[made.at] != 0
    low = np.where(np.isnan(low), value, low)
    high = np.where(np.isnan(high), value, high)
    return np.where(flags, value, low), np.where(flags, value, high), flags


@dataclass(slots=True, eq=False)
class Measurer:
    """Measures each launch that it is given, then launches it as usual. `judges` says which."""

    told: Callable[[PrecisionReport], None] = lambda report: None
    judges: Callable[[str, int], bool] = lambda kernel, number: True
    every: bool = False
    references: Mapping[str, Any] = field(default_factory=dict)
    runs: bool = True
    reports: list[PrecisionReport] = field(default_factory=list)
    count: int = 0
    before: Any = None

    def __call__(
        self, function: JITFunction, args: Any, kwargs: dict[str, Any], *, grid: Any, warmup: bool
    ) -> Any:
        if not warmup:
            self.count += 1
            if self.judges(function.__name__, self.count):
                host = frames.user_site(1).span
                launch = take(function, tuple(args), kwargs, grid, host)
                launch.number = self.count
                known = {n for n, v in launch.arguments.items() if isinstance(v, View)}
                wanted = {n: a for n, a in self.references.items() if n in known}
                found = measure(launch, every=self.every, reference=wanted or None)
                self.reports.append(found)
                self.told(found)
        if warmup or self.runs:
            return self.before(function, args, kwargs, grid=grid, warmup=warmup)
        return None


def precision(
    kernel: Any, args: Sequence[Any] = (), *, grid: Any, reference: Mapping[str, Any] | None = None,
    every: bool = False, **kwargs: Any,
) -> PrecisionReport:  # fmt: skip
    """Where a launch loses precision, and to what: numbers by source line against float64, what each
    decision about types costs, and for outputs of which a `reference` is given (by parameter name)
    whether they differ by rounding or by a mistake. Nothing is written to the arguments."""
    measurer = Measurer(
        every=every, references=dict(reference or {}), runs=False, before=current_launcher()
    )
    with standing_in(measurer):
        kernel[grid](*args, **kwargs)
    return measurer.reports[-1]


__all__ = ["Measurer", "PrecisionReport", "Verdict", "measure", "precision"]
