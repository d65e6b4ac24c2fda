"""What the ptx machine saw, as events: each fault at the kernel's line that its PTX is from."""

from __future__ import annotations

from blockstep.findings import Event, MachineFault, Span
from blockstep.interp.events import Launched
from blockstep.interp.ptx.faults import Fault, Place, Report
from blockstep.runtime.gpu.binary import Binary


def events_of(report: Report, binary: Binary, launched: Launched) -> list[Event]:
    """The events of a launch, in the order in which the faults were seen."""
    return [_event(fault, report, binary, launched) for fault in report.faults]


def _event(fault: Fault, report: Report, binary: Binary, launched: Launched) -> MachineFault:
    x, y, z = fault.cta
    related = fault.related
    key = fault.kind, fault.what, fault.place.line
    return MachineFault(
        span=span_of(fault.place, launched), kernel=launched.kernel, grid=launched.grid,
        host=launched.host, launch=launched.number, program=(x // binary.num_ctas, y, z),
        fault=fault.kind, what=fault.what, line=fault.place.line, text=fault.place.text,
        thread=fault.thread, count=report.occurrences[key],
        other=None if related is None else span_of(related, launched),
        other_line=0 if related is None else related.line,
        other_text="" if related is None else related.text, other_thread=fault.related_thread,
    )  # fmt: skip


def span_of(place: Place, launched: Launched) -> Span:
    """The kernel's line that a line of PTX was made from, or else the launch."""
    if place.file:
        return Span(place.file, place.kernel_line, place.column, function=launched.kernel)
    return launched.host or Span("", 0)
