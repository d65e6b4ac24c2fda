"""The lines above and below everything else: where the launch stands and why, tabs, keys, help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockstep.debugger.moments import Born, Reason, Stop, Strayed, Written
from blockstep.debugger.points import Breakpoint
from blockstep.debugger.views.heat import index_text
from blockstep.debugger.views.numbers import full
from blockstep.debugger.views.palette import Palette
from blockstep.debugger.views.text import Line, Shown, Spot, cut, width_of
from blockstep.findings import Finding
from blockstep.options import Program


def why(stop: Stop | None) -> str:
    """Why the session stands where it does, in a few words."""
    if stop is None:
        return "not started"
    detail: Any = stop.detail
    if isinstance(detail, Breakpoint):
        return f"breakpoint {detail.number}"
    if isinstance(detail, Finding):
        return f"{detail.severity.value}[{detail.kind}]: {detail.message}"
    if isinstance(detail, Written):
        element = f"{detail.argument}{index_text(detail.index)}"
        return f"{element} written: {full(detail.old)} -> {full(detail.new)}"
    if isinstance(detail, Born):
        word = "NaN" if detail.kind == "nan" else "infinity"
        return f"first {word}, from {detail.op} at element {index_text(detail.element) or '[]'}"
    if isinstance(detail, Strayed):
        place = index_text(detail.element)
        return f"{detail.op}{f' at element {place}' if place else ''} is {detail.ulps:.3g} ulp off"
    if isinstance(detail, BaseException):
        return f"{type(detail).__name__}: {str(detail).partition(chr(10))[0]}"
    return _WHY[stop.reason]


_WHY = {
    Reason.LINE: "", Reason.BREAKPOINT: "breakpoint()", Reason.WATCH: "written",
    Reason.FINDING: "finding", Reason.BORN: "born", Reason.ERROR: "error past its bound",
    Reason.EXCEPTION: "exception", Reason.INTERRUPT: "stopped", Reason.INSTANCE_END:
    "the program instance is done", Reason.BEGIN: "the record begins here",
    Reason.END: "the launch is over",
}  # fmt: skip


def title(kernel: str, grid: Program, stop: Stop | None, busy: bool, width: int, palette: Palette) -> Line:  # fmt: skip
    """Which kernel and instance, and why it stopped."""
    line: Line = [("class:title.name", f" {kernel} ")]
    if stop is not None and stop.program is not None:
        line.append(("class:title", f" {_triple(stop.program)} of grid {_triple(grid)} "))
    else:
        line.append(("class:title", f" grid {_triple(grid)} "))
    told = "running; Ctrl-C stops it at its line" if busy else why(stop)
    style = "class:title.busy" if busy else _style(stop)
    if stop is not None and stop.past and not busy:
        told = f"{told}, in the past" if told else "in the past"
    line.append((style, f" {told} "))
    line = cut(line, width, palette.signs.more)
    return [*line, ("class:title", " " * (width - width_of(line)))]


def _style(stop: Stop | None) -> str:
    bad = stop is not None and stop.reason in (Reason.FINDING, Reason.EXCEPTION, Reason.ERROR)
    return "class:title.bad" if bad else "class:title.why"


def _triple(program: Program) -> str:
    return f"({', '.join(map(str, program))})"


def tabs(names: Sequence[str], chosen: str, marks: Sequence[str], width: int, palette: Palette) -> Shown:  # fmt: skip
    """Names of tabs with their numbers. Spots are names; `marks` names those that have something
    new."""
    line: Line = []
    spots = []
    for number, name in enumerate(names, 1):
        text = f"{number} {name}{palette.signs.finding if name in marks else ' '}"
        text = f"[{text.rstrip()}]" if name == chosen else f" {text}"
        style = "class:tab.chosen" if name == chosen else "class:tab"
        left = width_of(line)
        line.append((style, text))
        spots.append(Spot(0, left, left + len(text), name))
    line = cut(line, width, palette.signs.more)
    return Shown([[*line, ("class:tab", palette.signs.dash * (width - width_of(line)))]], spots)


def keys(pairs: Sequence[tuple[str, str]], width: int) -> Shown:
    """Keys and what they do, as many as there is room for. Spots are the keys."""
    line: Line = []
    spots = []
    for key, does in pairs:
        left = width_of(line)
        if left + len(key) + len(does) + 2 > width:
            break
        line += [("class:key", key), ("class:keys", f" {does} ")]
        spots.append(Spot(0, left, left + len(key) + len(does) + 1, key))
    return Shown([[*line, ("class:keys", " " * (width - width_of(line)))]], spots)


def heading(text: str, width: int, chosen: bool, palette: Palette) -> Line:
    """The line above a pane; `chosen`: keys go to it."""
    dash = palette.signs.dash
    line: Line = [("class:pane.chosen" if chosen else "class:pane", f"{dash}{palette.signs.here if chosen else dash} {text} ")]  # fmt: skip
    line = cut(line, width, palette.signs.more)
    return [*line, ("class:pane.line", dash * (width - width_of(line)))]


def help_page(
    sections: Sequence[tuple[str, Sequence[tuple[str, str]]]], width: int, height: int
) -> Shown:
    """Keys under headings, in as many columns as they need."""
    widest = max(len(key) for _, pairs in sections for key, _ in pairs)
    rows: list[Line] = []
    for name, pairs in sections:
        rows.append([("class:name", name)])
        rows += [[("class:key", f" {key:<{widest}} "), ("", f" {does}")] for key, does in pairs]
    count = min(-(-len(rows) // max(height, 1)), max(width // 30, 1))
    parts = _parted(rows, -(-len(rows) // count), {name for name, _ in sections})
    column = width // len(parts)
    lines: list[Line] = []
    for i in range(min(max(map(len, parts)), height)):
        line: Line = []
        for part in parts:
            cell = cut(part[i], column - 1) if i < len(part) else []
            line += [*cell, ("", " " * (column - width_of(cell)))]
        lines.append(line)
    return Shown(lines)


def _parted(rows: list[Line], each: int, heads: set[str]) -> list[list[Line]]:
    """Columns of so many rows; a heading does not stand alone at the end of one."""
    found: list[list[Line]] = []
    while rows:
        at = min(each, len(rows))
        if at > 1 and at < len(rows) and rows[at - 1][0][1] in heads:
            at -= 1
        found.append(rows[:at])
        rows = rows[at:]
        if len(found) > 1 and len(rows) <= 1:  # what a heading left over
            found[-1] += rows
            rows = []
    return found


__all__ = ["heading", "help_page", "keys", "tabs", "title", "why"]
