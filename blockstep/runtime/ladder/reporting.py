"""From the first rung that differs to a finding: what made the value, where, and who is to blame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from blockstep import diagnostics
from blockstep.findings import (
    Argument,
    CompiledFault,
    Disagrees,
    Element,
    Event,
    Finding,
    PassBroke,
    Span,
    Suspect,
    TouchesElsewhere,
    Undecided,
    elements_of,
)
from blockstep.runtime.ladder.bisecting import rewrite_of
from blockstep.runtime.ladder.compiling import Made
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.machines import span_of
from blockstep.runtime.ladder.memory import Image
from blockstep.runtime.ladder.outcome import Mismatch, Outcome
from blockstep.runtime.ladder.suspecting import Agrees, suspect_of
from blockstep.runtime.ladder.writers import Writer, writer_of

AFTER = "after "
PTX = ("ptx, exact", "ptx")


def finding_of(
    launch: Launch, wrong: Outcome, made: Made, wanted: Image | None, agrees: Agrees
) -> Finding:
    """The finding for the first rung that differs: by values if it can be, by memory that is touched,
    by what a machine objected to. Memory is as it was before the launch."""
    if wrong.mismatch is None and wrong.beyond:
        return diagnostics.describe(_beyond_event(launch, wrong, made, wanted, agrees))
    if wrong.mismatch is None:
        return diagnostics.describe(_fault_event(launch, wrong, made, wanted, agrees))
    writer = writer_of(launch, wrong.mismatch)
    suspect, place, op = _suspect(launch, wrong, made, wanted, agrees, writer)
    writer = writer or Writer(kernel_span(launch))
    event = _mismatch_event(launch, wrong, wrong.mismatch, suspect, writer)
    if place is not None:
        name = f"`{op}`" if op else ""
        stored = writer.span if writer.span != place else None
        event = replace(
            event, span=place, stored_at=stored, made_by=name, callers=(),
            rewritten=suspect.rewrite is not None,
        )  # fmt: skip
    return diagnostics.describe(event)


def _suspect(
    launch: Launch,
    wrong: Outcome,
    made: Made,
    wanted: Image | None,
    agrees: Agrees,
    writer: Writer | None,
) -> tuple[Suspect, Span | None, str]:
    """Who is to blame, as far as that can be narrowed down; the place and the operation."""
    if wrong.rung.startswith(AFTER):
        name = wrong.rung.removeprefix(AFTER)
        found = rewrite_of(launch, made, name, wanted)
        if found is None:
            return Suspect(name), None, ""
        return Suspect(name, found[0]), found[1], ""
    if wrong.rung in PTX:
        exact = wrong.rung == PTX[0]
        stored = None if writer is None else writer.span
        program = None if writer is None else writer.program
        suspect, operation = suspect_of(launch, made, exact, agrees, stored, program)
        if operation is not None and operation.location is not None:
            return suspect, operation.location.span, operation.name
        return suspect, None, ""
    return Suspect(), None, ""


def _fault_event(
    launch: Launch, wrong: Outcome, made: Made, wanted: Image | None, agrees: Agrees
) -> Event:
    fault = wrong.faults[0]
    if fault.kind == "pass":
        return PassBroke(
            span=kernel_span(launch), name=wrong.rung.removeprefix(AFTER), what=fault.what,
            **_where(launch),
        )  # fmt: skip
    suspect, place, _ = _suspect(launch, wrong, made, wanted, agrees, None)
    return CompiledFault(
        span=fault.span or place or kernel_span(launch), rung=wrong.rung, fault=fault.kind,
        what=fault.what, where=fault.detail, suspect=suspect, **_where(launch),
    )  # fmt: skip


def _beyond_event(
    launch: Launch, wrong: Outcome, made: Made, wanted: Image | None, agrees: Agrees
) -> Event:
    extra = wrong.beyond[0]
    view = next((v for v in launch.bound.space.views if v.storage is extra.storage), None)
    places = [extra.storage.base + int(offset) for offset in extra.offsets]
    elements: tuple[Element, ...] = ()
    if view is not None:
        elements = elements_of(view, np.array(places))
    place = extra.place
    suspect, _, _ = _suspect(launch, wrong, made, wanted, agrees, None)
    return TouchesElsewhere(
        span=(place and span_of(place)) or kernel_span(launch), rung=wrong.rung, writes=extra.writes,
        argument=None if view is None else Argument.of(view), elements=elements,
        count=len(places), where="" if place is None else f"PTX line {place.line}: {place.text}",
        suspect=suspect, **_where(launch),
    )  # fmt: skip


def _mismatch_event(
    launch: Launch, wrong: Outcome, found: Mismatch, suspect: Suspect, writer: Writer
) -> Disagrees:
    limits = None
    if found.low is not None and found.high is not None and found.low != found.high:
        limits = value_text(found.low), value_text(found.high)
    return Disagrees(
        said=tuple(f"{f.kind}: {f.what}" for f in wrong.faults[:2]), span=writer.span, program=writer.program, callers=writer.callers, rung=wrong.rung,
        argument=argument_of(launch, found), element=found.element,
        wanted=value_text(found.wanted), found=value_text(found.found), count=found.count,
        total=found.total, limits=limits, suspect=suspect, **_where(launch),
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
