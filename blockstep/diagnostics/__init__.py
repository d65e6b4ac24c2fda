"""All wording: `describe` turns an event into a `Finding`, `render` a finding into text.

Invariant: a message names the program's own names, elements and program instances; never a number
that only this process knows. Adding an event is one class in `blockstep.findings.events`, one
function in this package, one line in `WORDING`, and a paragraph in `explain.py` for a new kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blockstep.diagnostics import (
    compiled,
    decisions,
    ladder,
    launches,
    memory,
    precision,
    races,
    values,
)
from blockstep.diagnostics.explain import explain
from blockstep.diagnostics.render import render, render_all, summary
from blockstep.diagnostics.words import Words
from blockstep.findings import (
    KINDS,
    AssertFailed,
    CastLoses,
    CompiledFault,
    CompileFault,
    Deadlock,
    Disagrees,
    DividedByZero,
    Event,
    FalseHint,
    Finding,
    GridLimit,
    IdleInstances,
    InternalFault,
    LanesDisagree,
    MachineFault,
    Misaligned,
    NaNReached,
    NeverWritten,
    OrderDependent,
    OutOfBounds,
    PassBroke,
    RaceFound,
    ReadBack,
    ReadsTf32,
    ReadUnwritten,
    Report,
    RerunDiffers,
    ShiftTooFar,
    StoresOverlap,
    TouchesElsewhere,
    Undecided,
    UndefinedReached,
    UnsupportedUse,
)

WORDING: dict[type[Event], Callable[[Any], Words]] = {
    OutOfBounds: memory.out_of_bounds,
    Misaligned: memory.misaligned,
    ReadUnwritten: memory.read_unwritten,
    RaceFound: races.race,
    LanesDisagree: races.lanes_disagree,
    StoresOverlap: races.stores_overlap,
    ReadBack: races.read_back,
    OrderDependent: races.order_dependent,
    RerunDiffers: launches.rerun_differs,
    Deadlock: races.deadlock,
    UndefinedReached: values.undefined_reached,
    NaNReached: precision.nan_reached,
    ReadsTf32: decisions.reads_tf32,
    DividedByZero: values.divided_by_zero,
    ShiftTooFar: values.shift_too_far,
    CastLoses: values.cast_loses,
    AssertFailed: values.assert_failed,
    FalseHint: values.false_hint,
    GridLimit: launches.grid_limit,
    NeverWritten: launches.never_written,
    IdleInstances: launches.idle_instances,
    CompileFault: launches.compile_fault,
    UnsupportedUse: launches.unsupported_use,
    InternalFault: launches.internal_fault,
    MachineFault: compiled.machine_fault,
    Disagrees: ladder.disagrees,
    CompiledFault: ladder.compiled_fault,
    TouchesElsewhere: ladder.touches_elsewhere,
    PassBroke: ladder.pass_broke,
    Undecided: ladder.undecided,
}


def describe(event: Event) -> Finding:
    """The finding that an event is."""
    words = WORDING[type(event)](event)
    kind = event.kind_name
    return Finding(
        kind=kind,
        severity=event.severity or KINDS[kind].severity,
        message=words.message,
        span=event.span,
        label=words.label,
        kernel=event.kernel,
        program=event.program,
        grid=event.grid,
        argument=words.argument.name if words.argument else None,
        elements=words.elements,
        count=words.count or len(words.elements),
        facts=words.facts,
        help=words.help,
        notes=words.notes,
        related=words.related,
        host=event.host,
        passed_at=words.argument.passed_at if words.argument else None,
        launch=event.launch,
        callers=event.callers,
        details={"event": type(event).__name__, **words.details},
    )


def record(report: Report, event: Event) -> Finding | None:
    """Files an event; one seen before is only counted, and costs no words."""
    kind = event.kind_name
    if not (report.wants(kind) and report.filters.judges(event.kernel, event.launch)):
        return None
    severity = event.severity or KINDS[kind].severity
    if report.repeat(event.key, severity, event.program):
        return None
    return report.add(describe(event))


__all__ = [
    "WORDING",
    "Words",
    "describe",
    "explain",
    "record",
    "render",
    "render_all",
    "summary",
]
