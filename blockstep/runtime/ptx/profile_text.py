"""A profile in words and as JSON: the worst lines first, each with what is wrong with it.

Sectors, wavefronts and bytes of the table are those of one request, on average.
"""

from __future__ import annotations

from typing import Any

from blockstep.diagnostics.source import line_text, shown_path
from blockstep.diagnostics.words import plural
from blockstep.interp.ptx.frame import LANES
from blockstep.interp.ptx.traffic import Cost, Pattern
from blockstep.runtime.ptx.profiling import KernelProfile, Line, commonest

WORTH_TELLING = 1.25  # times the least: below it nothing is said
UNITS = {"global": "sector", "shared": "wavefront"}
_BOLD, _RED, _END = "\033[1m", "\033[31m", "\033[0m"
_HEAD = (
    f"{'':>8} {'thread-':>12}   {'global memory':^31}   {'shared memory':^31}\n"
    f"{'line':>8} {'instructions':>12}   {'requests':>9} {'sectors':>8} {'least':>6} {'bytes':>5}"
    f"   {'requests':>9} {'wavefr.':>8} {'least':>6} {'bytes':>5}"
)


def profile_text(kernel: KernelProfile, most: int, color: bool = False) -> str:
    """The table of a kernel: `most` lines of it. Sectors, wavefronts and bytes are per request."""
    told = "1 launch" if kernel.launches == 1 else f"{kernel.launches} launches"
    title = f"{kernel.name}: {told}, {kernel.instructions:,} thread-instructions"
    lines = kernel.worst_first()
    parts = [f"{_BOLD}{title}{_END}" if color else title, _HEAD]
    file = None
    for line in lines[:most]:
        if line.span.file and line.span.file != file:
            file = line.span.file
            parts.append(f"  {shown_path(file)}")
        parts.append(_row(line, color))
    if len(lines) > most:
        parts.append(f"  and {plural(len(lines) - most, 'line')} more (--lines)")
    return "\n".join(parts) + "\n"


def _row(line: Line, color: bool) -> str:
    cells = "   ".join(_cells(line.spaces.get(space)) for space in UNITS)
    where = str(line.span.line) if line.span.line else "-"
    text = line_text(line.span.file, line.span.line).strip() or "of no line of the source"
    rows = [f"{where:>8} {line.instructions:>12,}   {cells}"]
    rows.append(f"{'':>8} | {text}")
    for said in diagnoses(line):
        shown = f"{_RED}{said}{_END}" if color else said
        rows.append(f"{'':>8} = {shown}")
    return "\n".join(row.rstrip() for row in rows)


def _cells(cost: Cost | None) -> str:
    if cost is None or not cost.requests:
        return " " * 31
    each = [cost.taken / cost.requests, cost.least / cost.requests, cost.nbytes / cost.requests]
    taken, least, nbytes = map(_short, each)
    return f"{cost.requests:>9,} {taken:>8} {least:>6} {nbytes:>5}"


def _short(number: float) -> str:
    return f"{number:.0f}" if number == round(number) else f"{number:.1f}"


def diagnoses(line: Line) -> list[str]:
    """What is wrong with the requests of a line, a sentence for each memory."""
    found = []
    for space, unit in UNITS.items():
        cost = line.spaces.get(space)
        if cost is not None and cost.taken > WORTH_TELLING * cost.least:
            found.append(_diagnosis(space, unit, cost))
    return found


def _diagnosis(space: str, unit: str, cost: Cost) -> str:
    taken, least = cost.taken / cost.requests, cost.least / cost.requests
    pattern = commonest(cost)
    why = "" if pattern is None else _why(space, pattern, cost)
    return f"{space}: {why}{_short(taken)} {unit}s a request, {_short(least)} would do"


def _why(space: str, pattern: Pattern, cost: Cost) -> str:
    if pattern.stride is not None and pattern.runs > 1:
        size = abs(pattern.stride)
        word = "bank conflicts, stride" if space == "shared" else "stride"
        return f"{word} {size} bytes from lane to lane: "
    if pattern.runs == 1:
        return "" if space == "shared" else "begins in the middle of a sector: "
    if pattern.runs >= LANES // 2:
        return "bank conflicts, " * (space == "shared") + "lanes far apart from each other: "
    return "bank conflicts, " * (space == "shared") + f"{pattern.runs} runs of lanes apart: "


def profile_json(kernels: list[KernelProfile]) -> dict[str, Any]:
    """Every line of the kernels as plain data; all numbers are sums over the launches."""
    return {
        "kernels": [
            {
                "kernel": kernel.name,
                "launches": kernel.launches,
                "instructions": kernel.instructions,
                "lines": [_line_json(line) for line in kernel.worst_first()],
            }
            for kernel in kernels
        ]
    }


def _line_json(line: Line) -> dict[str, Any]:
    told: dict[str, Any] = {
        "file": line.span.file,
        "line": line.span.line,
        "source": line_text(line.span.file, line.span.line).strip(),
        "instructions": line.instructions,
        "diagnosis": diagnoses(line),
    }
    for space, unit in UNITS.items():
        cost = line.spaces.get(space)
        if cost is not None:
            told[space] = {
                "requests": cost.requests, f"{unit}s": cost.taken, "least": cost.least,
                "bytes": cost.nbytes,
            }  # fmt: skip
    return told
