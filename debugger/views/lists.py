"""What is listed: findings, breakpoints, calls; and where the history stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockstep.debugger.moments import Frame
from blockstep.debugger.points import Breakpoint, Watch
from blockstep.debugger.views.heat import index_text
from blockstep.debugger.views.numbers import size
from blockstep.debugger.views.palette import Palette
from blockstep.debugger.views.text import Line, Shown, Spot, cut, said, wrap
from blockstep.diagnostics.source import line_text, shown_path
from blockstep.findings import Finding, Span


def findings(found: Sequence[Finding], chosen: int, width: int, height: int, palette: Palette) -> Shown:  # fmt: skip
    """A title and a place for each; of the chosen one also what decides it. Spots are their numbers."""
    if not found:
        return said("nothing has been found so far")
    rows: list[tuple[Line, int]] = []
    for number, finding in enumerate(found):
        rows += [(line, number) for line in _finding(finding, number == chosen, width)]
    at = next(i for i, (_, n) in enumerate(rows) if n == min(max(chosen, 0), len(found) - 1))
    return _window(rows, at, width, height, palette)


def _finding(finding: Finding, chosen: bool, width: int) -> list[Line]:
    word = finding.severity.value
    title = f"{word}[{finding.kind}]: {finding.message}"
    style = f"class:{word}" + (" class:chosen" if chosen else "")
    first, *rest = wrap(title, max(width, 8), "  ")
    lines: list[Line] = [[(style, first)], *([(style, text)] for text in rest if chosen)]
    who = f" in {finding.program}" if finding.program else ""
    lines.append([("class:quiet", f"  {_place(finding.span)}{who}")])
    if not chosen:
        return lines
    if finding.label:
        lines += [[("", t)] for t in wrap(f"  {finding.label}", width, "    ")]
    for fact in finding.facts:
        lines += [[("", text)] for text in wrap(f"  = {fact}", width, "    ")]
    for party in finding.related:
        told = f" by {party.program}" if party.program else ""
        lines += [[("class:name", t)] for t in wrap(f"  {party.label}{told}: {_place(party.span)}", width, "    ")]  # fmt: skip
    for text in finding.help:
        lines += [[("class:help", t)] for t in wrap(f"  help: {text}", width, "    ")]
    return lines


def _place(span: Span) -> str:
    return f"{shown_path(span.file)}:{span.line}"


def _window(rows: Sequence[tuple[Line, Any]], at: int, width: int, height: int, palette: Palette) -> Shown:  # fmt: skip
    """The part of a list that has row `at` near its top."""
    first = max(min(at, len(rows) - height), 0)
    part = rows[first : first + height]
    lines = [cut(line, width, palette.signs.more) for line, _ in part]
    spots = [Spot(i, 0, width, target) for i, (_, target) in enumerate(part)]
    return Shown(lines, spots, at - first)


def points(
    every: Sequence[Breakpoint | Watch], events: Sequence[str], width: int, height: int, palette: Palette
) -> Shown:  # fmt: skip
    """Breakpoints, watched elements and events. Spots are numbers."""
    rows: list[tuple[Line, Any]] = [(_point(point, palette), point.number) for point in every]
    told = ", ".join(events) or "nothing"
    rows.append(([("class:quiet", f"stops also at: {told}")], None))
    return _window(rows, 0, width, height, palette)


def _point(point: Breakpoint | Watch, palette: Palette) -> Line:
    signs = palette.signs
    style = "class:source.breakpoint" if point.enabled else "class:source.disabled"
    sign = signs.breakpoint if point.enabled else signs.disabled
    if isinstance(point, Watch):
        where, extra = f"{point.argument}{index_text(point.index)}", "written"
    elif point.function is not None:
        where, extra = point.function, _extra(point)
    else:
        where, extra = f"{shown_path(point.file or '')}:{point.line}", _extra(point)
    hits = f", met {point.hits} times" if point.hits != 1 else ", met once"
    return [(style, sign), ("class:index", f" {point.number} "), ("", where), ("class:quiet", f" {extra}{hits if point.hits else ''}")]  # fmt: skip


def _extra(point: Breakpoint) -> str:
    parts = [
        f"if {point.condition}" if point.condition else "",
        f"in {point.program}" if point.program is not None else "",
        f"after {point.ignore} more" if point.ignore else "",
        "once" if point.temporary else "",
    ]
    return ", ".join(part for part in parts if part)


def calls(frames: Sequence[Frame], at: int, width: int, height: int, palette: Palette) -> Shown:
    """The calls, innermost first; `at` numbers the one that is looked at, 0 the outermost. Spots are
    these numbers."""
    if not frames:
        return said("nothing runs")
    rows: list[tuple[Line, Any]] = []
    for number in range(len(frames) - 1, -1, -1):
        frame = frames[number]
        here = number == at
        text = line_text(frame.file, frame.line).strip()
        arrow = palette.signs.here if here else " "
        style = "class:chosen" if here else ""
        rows.append(([
            ("class:source.here", arrow), (style, f" {frame.function}"),
            ("class:quiet", f" {shown_path(frame.file)}:{frame.line}  "), ("", text),
        ], number))  # fmt: skip
    return _window(rows, len(frames) - 1 - at, width, height, palette)


def history(position: tuple[int, int], held: int, limit: int, first: int, width: int, palette: Palette) -> Line:  # fmt: skip
    """Step N of M, and what the record takes; steps before `first` are had by running again."""
    step, count = position
    room = max(min(width - 66, 30), 0)
    filled = round(room * (step + 1) / count) if count else 0
    full, empty = ("#", "-") if palette.ascii else ("━", "─")
    line: Line = [("class:name", f"step {step + 1} of {count}" if count else "no steps yet")]
    if room > 4:
        line += [("", " "), ("class:history", full * filled), ("class:quiet", empty * (room - filled))]  # fmt: skip
    kept = f", from {first + 1} on" if first else ""
    line.append(("class:quiet", f" {size(held)} of {size(limit)}{kept}"))
    return cut(line, width, palette.signs.more)


__all__ = ["calls", "findings", "history", "points"]
