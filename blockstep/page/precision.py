"""Where bits are lost, by source line, in the words of `diagnostics.precision_report`."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import Any

from blockstep.diagnostics.precision_report import by_line, causes, number
from blockstep.diagnostics.source import line_text, shown_path
from blockstep.diagnostics.words import triple
from blockstep.page.html import Html, join, tag
from blockstep.page.sources import Sources

MOST_LINES = 40  # of one launch, the worst ones

Reports = Sequence[tuple[str, Any]]


def margins(reports: Reports) -> dict[tuple[str, int], tuple[str, str]]:
    """By file and line: what the margin of the source says, and where it leads."""
    found: dict[tuple[str, int], tuple[str, str]] = {}
    for at, (_, report) in enumerate(reports, 1):
        for place, records in by_line(report.lines):
            most = max(r.introduced for r in records)
            told = list(causes(records))
            if (most or told) and place not in found:
                words = f"introduces {number(most)}" if most else told[0]
                found[place] = words, f"#precision-{at}"
    return found


def precision(reports: Reports, sources: Sources) -> Html | None:
    """The section; None if precision was not asked for. `reports`: with a title for each."""
    if not reports:
        return None
    shown = [_report(at, title, r, sources) for at, (title, r) in enumerate(reports, 1)]
    return tag("section", tag("h2", "Precision by line"), shown, id="precision")


def _report(at: int, title: str, report: Any, sources: Sources) -> Html:
    ranked = by_line(report.lines)
    head = ["line", "introduced", "", "at most", "source"]
    rows = [_row(place, records, sources) for place, records in ranked[:MOST_LINES]]
    table = tag(
        "table", tag("thead", tag("tr", [tag("th", name, scope="col") for name in head])),
        tag("tbody", rows),
    )  # fmt: skip
    name = title or f"{report.kernel}, grid {triple(report.grid)}"
    body = (
        tag("div", table, class_="wide", tabindex="0")
        if rows
        else tag("p", "exact: nothing is rounded")
    )
    whole = tag("details", tag("summary", "the whole report"), tag("pre", str(report)))
    return tag("article", tag("h3", name), body, whole, id=f"precision-{at}", class_="precision")


def _row(place: tuple[str, int], records: Any, sources: Sources) -> Html:
    file, line = place
    most = max(r.introduced for r in records)
    ulps = max(r.worst_ulps for r in records)
    anchor = sources.anchor(file, line)
    where = tag("a", f"{shown_path(file)}:{line}", href=f"#{anchor}" if anchor else None)
    words = [tag("li", text) for text in causes(records)]
    code = join([tag("code", line_text(file, line).strip()), tag("ul", words) if words else None])
    full = tag("rect", width=100, height=8, class_="rest")
    bar = tag("svg", full, tag("rect", width=round(100 * _share(most)), height=8, class_="lost"),
              viewBox="0 0 100 8", width=100, height=8, class_="bar", aria_hidden="true")  # fmt: skip
    return tag(
        "tr", tag("td", where), tag("td", number(most), class_="num"), tag("td", bar),
        tag("td", f"{number(ulps)} ulps", class_="num"), tag("td", code),
    )  # fmt: skip


def _share(error: float) -> float:
    """How far a bar reaches: from 2**-24 (nothing to tell) to 1 (nothing is left), by its logarithm."""
    if not error > 0:
        return 0.0
    return min(max((log2(error) + 24) / 24, 0.02), 1.0)


__all__ = ["margins", "precision"]
