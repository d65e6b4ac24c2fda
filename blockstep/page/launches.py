"""The launches: a table of all, and the maps of those that were captured."""

from __future__ import annotations

from blockstep.diagnostics.source import place
from blockstep.diagnostics.words import plural, triple
from blockstep.findings import Finding, LaunchRecord, Report
from blockstep.findings.captured import Captured
from blockstep.page.html import Html, tag
from blockstep.page.maps import grid_map, memory_map
from blockstep.page.sources import Sources

MOST_ROWS = 200
OPEN = 3  # launches whose maps are seen at once

Numbered = list[tuple[int, Finding]]


def launches(report: Report, findings: list[Finding], sources: Sources) -> Html | None:
    """The section; None if there was no launch."""
    if not report.launches:
        return None
    captured = {c.number: c for c in report.captured}
    rows = [_row(record, captured.get(record.number), sources) for record in _chosen(report)]
    head = ["launch", "kernel", "grid", "machine", "instances", "seconds", "findings", "at"]
    table = tag(
        "table", tag("thead", tag("tr", [tag("th", name, scope="col") for name in head])),
        tag("tbody", rows),
    )  # fmt: skip
    more = len(report.launches) - len(rows)
    rest = (
        tag("p", f"{plural(more, 'more launch')} without findings", class_="quiet")
        if more
        else None
    )
    numbered = list(enumerate(findings, 1))
    ordered = sorted(report.captured, key=lambda c: c.number)
    shown = [
        _launch(c, [(n, f) for n, f in numbered if f.launch == c.number], at < OPEN)
        for at, c in enumerate(ordered)
    ]
    return tag(
        "section", tag("h2", "Launches"), tag("div", table, class_="wide", tabindex="0"), rest, shown,
        id="launches",
    )  # fmt: skip


def _chosen(report: Report) -> list[LaunchRecord]:
    """All, or those with findings and the first ones."""
    if len(report.launches) <= MOST_ROWS:
        return report.launches
    first = [r for r in report.launches if r.findings] + report.launches
    numbers = sorted(dict.fromkeys(r.number for r in first[: 2 * MOST_ROWS]))[:MOST_ROWS]
    return [report.launches[n - 1] for n in numbers]


def _row(record: LaunchRecord, captured: Captured | None, sources: Sources) -> Html:
    number: object = record.number
    kernel: object = record.kernel
    if captured is not None:
        number = tag("a", record.number, href=f"#launch-{record.number}")
        kernel = tag("a", record.kernel, href=sources.href(captured.source))
    machine = tag("td", record.machine, title=record.because or None)
    return tag(
        "tr", tag("td", number), tag("td", tag("code", kernel)), tag("td", triple(record.grid)),
        machine, tag("td", record.programs, class_="num"),
        tag("td", f"{record.seconds:.3f}", class_="num"), tag("td", record.findings, class_="num"),
        tag("td", place(record.host) if record.host else None),
        id=None if captured is not None else f"launch-{record.number}",
    )  # fmt: skip


def _launch(captured: Captured, findings: Numbered, opened: bool) -> Html:
    head = f"launch {captured.number}: {captured.kernel}, grid {triple(captured.grid)}"
    links = [
        tag("li", tag("a", f"finding {n}", href=f"#finding-{n}"), f" {f.severity}[{f.kind}]",
            f" in program instance {triple(f.program)}" if f.program else None,
            f", {plural(f.programs, 'instance')} in all" if f.programs > 1 else None)
        for n, f in findings
    ]  # fmt: skip
    maps = []
    if captured.picture is not None:
        maps.append(grid_map(captured.picture, captured.grid))
    for picture in captured.memory:
        found = [
            (n, element)
            for n, f in findings
            if f.argument == picture.name
            for element in f.elements
        ]
        maps.append(memory_map(picture, captured.grid, found))
    why = None
    if captured.why_no_memory:
        why = tag("p", f"no map of memory: {captured.why_no_memory}", class_="quiet")
    return tag(
        "details", tag("summary", head), tag("ul", links, class_="links") if links else None,
        tag("div", maps, class_="maps"), why, id=f"launch-{captured.number}", open=opened,
        class_="launch",
    )  # fmt: skip


__all__ = ["launches"]
