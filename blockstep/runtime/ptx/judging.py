"""What the ptx machine saw, as events: each fault at the kernel's line that its PTX is from."""

from __future__ import annotations

from blockstep.findings import Event, MachineFault, Span
from blockstep.interp.events import Launched
from blockstep.interp.ptx.faults import Fault, Place, Report


def events_of(
    report: Report, launched: Launched, num_ctas: int = 1, text_of: str = ""
) -> list[Event]:
    """The events of a launch, in the order in which the faults were seen.

    `num_ctas` is how many CTAs a program instance is. `text_of` is the file of the PTX, if it came
    from one: the place of lines that name no line of a kernel; else that is the launch."""
    return [_event(fault, report, launched, num_ctas, text_of) for fault in report.faults]


def _event(
    fault: Fault, report: Report, launched: Launched, num_ctas: int, text_of: str
) -> MachineFault:
    x, y, z = fault.cta
    related = fault.related
    key = fault.kind, fault.what, fault.place.line
    return MachineFault(
        span=span_of(fault.place, launched, text_of), kernel=launched.kernel, grid=launched.grid,
        host=launched.host, launch=launched.number, program=(x // num_ctas, y, z),
        fault=fault.kind, what=fault.what, line=fault.place.line, text=fault.place.text,
        thread=fault.thread, count=report.occurrences[key],
        other=None if related is None else span_of(related, launched, text_of),
        other_line=0 if related is None else related.line,
        other_text="" if related is None else related.text, other_thread=fault.related_thread,
    )  # fmt: skip


def span_of(place: Place, launched: Launched, text_of: str = "") -> Span:
    """The kernel's line that a line of PTX was made from; else the PTX's own, or the launch."""
    if place.file:
        return Span(place.file, place.kernel_line, place.column, function=launched.kernel)
    if text_of:
        return Span(text_of, place.line, function=launched.kernel)
    return launched.host or Span("", 0)
