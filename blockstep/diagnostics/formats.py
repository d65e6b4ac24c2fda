"""A kernel in several formats: the table, its bars for a terminal, and a picture (SVG)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING

from blockstep.diagnostics.decisions import number, wrapped
from blockstep.diagnostics.words import listed, triple

if TYPE_CHECKING:
    from blockstep.runtime.whatif.comparing import Table
    from blockstep.runtime.whatif.measuring import Error

BAR = 44  # characters
_HEAD = ("format", "max ulps", "mean ulps", "rms error", "relative", "lost", "to Inf", "to 0")
_WIDTHS = (8, 10, 10, 10, 10, 7, 7, 7)


def table_text(table: Table) -> str:
    """Figures and bars, each output by itself."""
    names = [f"`{n}`" for n in table.switched]
    how = "the value of" if table.constants else "the format of"
    head = f"{table.kernel}, grid {triple(table.grid)}: {how} {listed(names)} switched"
    lines = [*wrapped(head, 0), *wrapped("against the launch as it is given, in float64")]
    for output in _outputs(table):
        lines += ["", f"`{output}`", *_figures(table, output), "", *_bars(table, output)]
    for row in table.rows:
        if row.why:
            lines += wrapped(f"{row.format}: {row.why}")
    return "\n".join(lines)


def _outputs(table: Table) -> list[str]:
    return list(dict.fromkeys(name for row in table.rows for name in row.errors))


def _of(table: Table, output: str) -> list[tuple[str, Error]]:
    return [(r.format, r.errors[output]) for r in table.rows if output in r.errors]


def _figures(table: Table, output: str) -> Iterator[str]:
    yield "  " + _row(_HEAD)
    for name, e in _of(table, output):
        cells = [number(x) for x in (e.ulps, e.mean_ulps, e.rms, e.relative)]
        yield "  " + _row([name, *cells, str(e.lost), str(e.overflowed), str(e.underflowed)])


def _row(cells: Sequence[str]) -> str:
    first, *rest = cells
    return first.ljust(_WIDTHS[0]) + "".join(
        c.rjust(w) for c, w in zip(rest, _WIDTHS[1:], strict=True)
    )


def _scale(errors: Sequence[Error]) -> tuple[float, float]:
    """The decades of rms errors that a picture spans."""
    logs = [math.log10(e.rms) for e in errors if 0 < e.rms < math.inf]
    if not logs:
        return -1.0, 0.0
    return math.floor(min(logs)) - 1, max(math.ceil(max(logs)), math.floor(min(logs)) + 1)


def _part(error: Error, low: float, high: float) -> float:
    """How far a bar goes, 0 to 1."""
    if not error.rms:
        return 0.0
    return min(max((math.log10(error.rms) - low) / (high - low), 0.0), 1.0)


def _bars(table: Table, output: str) -> Iterator[str]:
    rows = _of(table, output)
    low, high = _scale([e for _, e in rows])
    yield f"  {'rms':<8} 1e{low:<+4.0f}{'':<{BAR - 12}}1e{high:<+4.0f}"
    for name, error in rows:
        bar = "#" * round(_part(error, low, high) * BAR)
        tail = f"{number(error.rms)}" + (f", {error.lost} lost" if error.lost else "")
        yield f"  {name:<8} {bar}{' ' if bar else ''}{tail}"


def svg(table: Table) -> str:
    """Bars of rms errors on a logarithmic scale, one group for each output; a file by itself."""
    parts: list[str] = []
    top = 48
    for output in _outputs(table):
        group, top = _group(table, output, top)
        parts += group
    title = escape(f"{table.kernel}: rms error against float64, by format")
    style = "font-family='sans-serif' font-size='13' fill='#222'"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='640' height='{top + 8}' "
        f"viewBox='0 0 640 {top + 8}'>\n<rect width='100%' height='100%' fill='white'/>\n"
        f"<text x='16' y='26' {style} font-weight='bold'>{title}</text>\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


_LEFT, _WIDE = 96, 400


def _group(table: Table, output: str, top: int) -> tuple[list[str], int]:
    rows = _of(table, output)
    low, high = _scale([e for _, e in rows])
    style = "font-family='sans-serif' font-size='12' fill='#222'"
    bottom = top + 24 + 22 * len(rows)
    parts = [f"<text x='16' y='{top + 12}' {style} font-style='italic'>{escape(output)}</text>"]
    for decade in range(int(low), int(high) + 1):
        x = _LEFT + _WIDE * (decade - low) / (high - low)
        parts.append(
            f"<line x1='{x:.1f}' y1='{top + 20}' x2='{x:.1f}' y2='{bottom}' stroke='#ddd'/>"
        )
        if high - low <= 8 or decade % 2 == 0:
            parts.append(
                f"<text x='{x:.1f}' y='{bottom + 14}' {style} text-anchor='middle'>1e{decade}</text>"
            )
    for place, (name, error) in enumerate(rows):
        y = top + 24 + 22 * place
        wide = max(_part(error, low, high) * _WIDE, 1.0)
        colour = "#c44" if error.lost else "#47a"
        tail = number(error.rms) + (f", {error.lost} lost" if error.lost else "")
        parts += [
            f"<text x='{_LEFT - 8}' y='{y + 13}' {style} text-anchor='end'>{escape(name)}</text>",
            f"<rect x='{_LEFT}' y='{y}' width='{wide:.1f}' height='16' fill='{colour}'/>",
            f"<text x='{_LEFT + wide + 6:.1f}' y='{y + 13}' {style}>{tail}</text>",
        ]
    return parts, bottom + 28


def table_json(table: Table) -> dict[str, object]:
    """As plain data."""
    return {
        "kernel": table.kernel, "grid": list(table.grid), "switched": list(table.switched),
        "rows": [
            {"format": r.format, "why": r.why, "errors": {n: asdict(e) for n, e in r.errors.items()}}
            for r in table.rows
        ],
    }  # fmt: skip


__all__ = ["svg", "table_json", "table_text"]
