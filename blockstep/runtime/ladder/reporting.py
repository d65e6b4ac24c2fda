"""From the first rung that differs to a finding: what made the value, where, and who is to blame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from blockstep import diagnostics
from blockstep.findings import (
    Argument,
    CompiledFault,
    Disagrees,
    Event,
    Finding,
    PassBroke,
    Span,
    Suspect,
    Undecided,
)
from blockstep.runtime.ladder.bisecting import rewrite_of
from blockstep.runtime.ladder.compiling import Made
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.memory import Image
from blockstep.runtime.ladder.outcome import Mismatch, Outcome
from blockstep.runtime.ladder.suspecting import suspect_of
from blockstep.runtime.ladder.writers import Writer, writer_of

AFTER = "after "
PTX = ("ptx, exact", "ptx")


def finding_of(
    launch: Launch, wrong: Outcome, before: Sequence[Outcome], made: Made, wanted: Image | None
) -> Finding:
    """The finding for the first rung that differs. Memory is as it was before the launch."""
    if wrong.fault is not None:
        return diagnostics.describe(_fault_event(launch, wrong))
    assert wrong.mismatch is not None
    writer = writer_of(launch, wrong.mismatch)
    suspect, place, op = _suspect(launch, wrong, made, wanted, writer)
    writer = writer or Writer(kernel_span(launch))
    event = _mismatch_event(launch, wrong, wrong.mismatch, suspect, writer)
    if place is not None and place != event.span:
        name = f"`{op}`" if op else ""
        event = replace(event, span=place, stored_at=writer.span, made_by=name, callers=())
    return diagnostics.describe(event)


def _suspect(
    launch: Launch, wrong: Outcome, made: Made, wanted: Image | None, writer: Writer | None
) -> tuple[Suspect, Span | None, str]:
    """Who is to blame, as far as that can be narrowed down; the place and the operation."""
    if wrong.rung.startswith(AFTER):
        name = wrong.rung.removeprefix(AFTER)
        found = rewrite_of(launch, made, name, wanted)
        if found is None:
            return Suspect(name), None, ""
        return Suspect(name, found[0]), found[1], ""
    if wrong.rung in PTX and wanted is not None:
        exact = wrong.rung == PTX[0]
        stored = None if writer is None else writer.span
        program = None if writer is None else writer.program
        suspect, operation = suspect_of(launch, made, exact, wanted, stored, program)
        if operation is not None and operation.location is not None:
            return suspect, operation.location.span, operation.name
        return suspect, None, ""
    return Suspect(), None, ""


def _fault_event(launch: Launch, wrong: Outcome) -> Event:
    fault = wrong.fault
    assert fault is not None
    span = fault.span or kernel_span(launch)
    if fault.kind == "pass":
        return PassBroke(
            span=span, name=wrong.rung.removeprefix("after "), what=fault.what, **_where(launch)
        )
    return CompiledFault(
        span=span, rung=wrong.rung, fault=fault.kind, what=fault.what, where=fault.detail,
        **_where(launch),
    )  # fmt: skip


def _mismatch_event(
    launch: Launch, wrong: Outcome, found: Mismatch, suspect: Suspect, writer: Writer
) -> Disagrees:
    limits = None
    if found.low is not None and found.high is not None:
        limits = value_text(found.low), value_text(found.high)
    return Disagrees(
        span=writer.span, program=writer.program, callers=writer.callers, rung=wrong.rung,
        argument=argument_of(launch, found), element=found.element,
        wanted=value_text(found.wanted), found=value_text(found.found), count=found.count,
        total=found.total, made_by=writer.op, limits=limits, suspect=suspect, **_where(launch),
    )  # fmt: skip


def doubt_of(launch: Launch, outcome: Outcome) -> Finding:
    """The finding for elements of which nobody can say whether they are right."""
    count = outcome.undecided + outcome.ordered
    why = "a decision (a comparison, a cast, a choice) lies within the error of what it decides by"
    if not outcome.undecided:
        why = "they depend on the order of program instances"
    event = Undecided(
        span=kernel_span(launch), rung=outcome.rung, count=count, why=why, **_where(launch)
    )
    return diagnostics.describe(event)


def argument_of(launch: Launch, found: Mismatch) -> Argument:
    """The argument that an element is of."""
    for view in launch.bound.space.views:
        if view.name == found.argument:
            return Argument.of(view)
    return Argument(found.argument or "memory of no argument", found.type_text)


def kernel_span(launch: Launch) -> Span:
    """The line of the kernel's `def`."""
    code = launch.function.fn.__code__
    return Span(code.co_filename, code.co_firstlineno, function=launch.kernel)


def value_text(value: Any) -> str:
    """A number as a reader would write it, with all its digits."""
    if isinstance(value, np.generic) and value.dtype.kind in "iub":
        return str(value.item())
    return repr(float(value)) if not isinstance(value, np.float32 | np.float16) else str(value)


def _where(launch: Launch) -> dict[str, Any]:
    return {
        "kernel": launch.kernel, "grid": launch.grid, "host": launch.host, "launch": launch.number,
    }  # fmt: skip


__all__ = ["argument_of", "doubt_of", "finding_of", "kernel_span", "value_text"]
