"""Values, layouts, findings and results as HTML, for Jupyter's `_repr_html_`.

Invariant: a fragment carries its own styles and no script; colours are those of the notebook's text or
readable on light and dark alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from blockstep import diagnostics
from blockstep.diagnostics.words import plural, triple
from blockstep.findings import Finding, Report
from blockstep.language.facts import Facts, facts
from blockstep.language.value import describe, tensor
from blockstep.page.heat import heat, values_table
from blockstep.page.html import Html, join, tag
from blockstep.page.styled import styled, styled_lines

MOST = 50  # findings
STYLE = Html(
    "<style>"
    ".bs{font:13px/1.45 system-ui,sans-serif}.bs pre,.bs code{font:12px/1.45 ui-monospace,Menlo,"
    "Consolas,monospace;background:none}.bs pre{margin:.2em 0 .6em;padding:0;overflow-x:auto;"
    "color:inherit}.bs summary{cursor:pointer}.bs .q{opacity:.7}.bs details{margin:.2em 0;padding-left"
    ":.6em;border-left:3px solid #8a8f98}.bs details.error{border-color:#d0342c}.bs details.warning{"
    "border-color:#c98a12}.bs .s-error{color:#d0342c;font-weight:600}.bs .s-warning{color:#b57a10;"
    "font-weight:600}.bs .s-note{color:#12858f}.bs .s-help{color:#2e8b4a}.bs .s-gutter{opacity:.6}"
    ".bs table{border-collapse:collapse;margin:.4em 0}.bs td,.bs th{padding:1px 7px;text-align:right;"
    "font:12px ui-monospace,monospace;border:1px solid rgba(128,128,128,.35)}.bs th{opacity:.7;"
    "font-weight:400}.bs .u{background:repeating-linear-gradient(45deg,rgba(128,128,128,.35) 0 2px,"
    "transparent 2px 6px);opacity:.65}.bs .nan{background:#d0342c;color:#fff}.bs svg{display:block;"
    "margin:.4em 0;max-width:100%}.bs td.l{text-align:left}"
    "</style>"
)


def fragment(*children: object) -> str:
    """A fragment with the styles that it needs."""
    return tag("div", STYLE, children, class_="bs")


def of_value(x: tensor) -> str:
    """A block: its type, what its numbers are like, and the elements (many of them as a heat map)."""
    found = facts(x)
    if found is None:
        return fragment(tag("code", describe(x)))
    head = tag("div", tag("code", found.type_text), " ", tag("span", found.sentence(), class_="q"))
    return fragment(head, *_elements(found))


def _elements(found: Facts) -> Iterable[Html | None]:
    yield heat(found)
    yield values_table(found)
    if found.lost:
        yield tag(
            "div", "hatched: undefined, the load's mask was off and it has no `other`", class_="q"
        )


def of_finding(finding: Finding) -> str:
    """A finding, in the words of the command line."""
    return fragment(_finding(finding, opened=True))


def of_report(report: Report) -> str:
    """The findings of a report, folded, and its summary."""
    found = report.findings
    rest = len(found) - MOST
    more = tag("div", plural(rest, "more finding"), class_="q") if rest > 0 else None
    summary = tag("div", tag("strong", diagnostics.summary(report)))
    return fragment(summary, [_finding(f, len(found) <= 3) for f in found[:MOST]], more)


def _finding(finding: Finding, opened: bool) -> Html:
    title, *lines = diagnostics.render(finding, color=True).split("\n")
    return tag(
        "details", tag("summary", styled(title)), tag("pre", styled_lines(lines)),
        class_=finding.severity.value, open=opened,
    )  # fmt: skip


def of_climb(climb: Any) -> str:
    """What became of each rung of a verified launch."""
    from blockstep.runtime.ladder.outcome import Status
    from blockstep.runtime.ladder.telling import line

    shown = [o for o in climb.outcomes if o.status is not Status.SAME]
    rows = [
        tag("tr", tag("td", o.rung, class_="l"), tag("td", line(o), class_="l nan" if o.status is
            Status.DIFFERS else "l"))
        for o in shown
    ]  # fmt: skip
    head = tag("div", tag("strong", climb.kernel), f", grid {triple(climb.grid)}")
    return fragment(head, tag("table", rows), [_finding(f, True) for f in climb.findings])


def of_precision(report: Any) -> str:
    """A precision report: the lines that lose, with a bar each; the rest is its text."""
    from blockstep.diagnostics.precision_report import by_line, causes, number
    from blockstep.diagnostics.source import line_text, shown_path

    rows = []
    for (file, at), records in by_line(report.lines)[:20]:
        most = max(r.introduced for r in records)
        told = [tag("div", text, class_="q") for text in causes(records)]
        code = join([tag("code", line_text(file, at).strip()), told])
        rows.append(
            tag("tr", tag("td", f"{shown_path(file)}:{at}"), tag("td", number(most)),
                tag("td", code, class_="l"))
        )  # fmt: skip
    head = tag("tr", [tag("th", name) for name in ("line", "introduced", "source")])
    title = tag("div", tag("strong", report.kernel), f", grid {triple(report.grid)}")
    table = tag("table", head, rows) if rows else tag("div", "exact: nothing is rounded")
    whole = tag("details", tag("summary", "the whole report"), tag("pre", str(report)))
    return fragment(title, table, whole)


__all__ = ["of_climb", "of_finding", "of_precision", "of_report", "of_value"]
