"""The kernels' sources: numbered lines, expressions underlined, findings in the margin.

Each line that is shown has an anchor, so that whatever names a place can lead there. A long function
is shown around what was found in it, and a long page stops showing more: both say so.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from blockstep.diagnostics import source
from blockstep.diagnostics.words import plural
from blockstep.findings import Finding, Report, Span
from blockstep.page.code import pieces
from blockstep.page.html import Html, tag

MOST_LINES = 4000  # of all sources
LONG = 240  # lines of a function: past it only what is near findings is shown
NEAR = 12
WIDE = 240  # characters of a line


@dataclass(frozen=True, slots=True)
class Mark:
    """A place that finding `number` (from 1) is about; `other` is the other party's place."""

    number: int
    span: Span
    label: str
    style: str
    title: str = ""  # of the place itself
    other: Span | None = None


@dataclass(slots=True)
class Region:
    """Lines of a file that are shown, those of a function mostly."""

    file: str
    first: int
    last: int
    function: str = ""

    def __contains__(self, line: int) -> bool:
        return self.first <= line <= self.last


@dataclass(slots=True, eq=False)
class Sources:
    """What is shown of which files. `lost` has (file, line) → the text of the precision margin."""

    regions: list[Region]
    marks: list[Mark]
    lost: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)
    _files: dict[str, int] = field(default_factory=dict)
    _shown: dict[str, list[int]] = field(default_factory=dict)
    _left: int = 0

    def __post_init__(self) -> None:
        room = MOST_LINES
        for region in self.regions:
            self._files.setdefault(region.file, len(self._files))
            lines = self._lines(region)
            self._left += max(len(lines) - room, 0)
            known = self._shown.setdefault(region.file, [])
            known += lines[: max(room, 0)]
            room -= len(lines)

    def anchor(self, file: str, line: int) -> str | None:
        """The name of a line's anchor; None if it is not shown."""
        if line not in self._shown.get(file, ()):
            return None
        return f"L{self._files[file]}-{line}"

    def href(self, span: Span | None) -> str | None:
        """Where a link to a place leads; None if it is not shown."""
        anchor = None if span is None else self.anchor(span.file, span.line)
        return None if anchor is None else f"#{anchor}"

    def _lines(self, region: Region) -> list[int]:
        every = range(region.first, region.last + 1)
        if len(every) <= LONG:
            return list(every)
        about = {m.span.line for m in self.marks if m.span.file == region.file}
        about |= {line for file, line in self.lost if file == region.file}
        kept = set(every[:NEAR]).union(*[range(n - NEAR, n + NEAR + 1) for n in about])
        return [n for n in every if n in kept]

    def html(self) -> Html | None:
        """All regions."""
        if not self.regions:
            return None
        parts = [self._region(region) for region in self.regions]
        if self._left:
            parts.append(
                tag("p", f"{plural(self._left, 'more line')} are not shown.", class_="quiet")
            )
        return tag("section", tag("h2", "Source"), parts, id="source")

    def _region(self, region: Region) -> Html:
        inside = f" in {region.function}" if region.function else ""
        rows: list[Html] = []
        before = region.first - 1
        for line in [n for n in self._shown[region.file] if n in region]:
            if line > before + 1:
                rows.append(tag("div", tag("span", "⋯", class_="n"), class_="line gap"))
            rows.append(self._line(region.file, line))
            before = line
        head = tag("h3", tag("code", source.shown_path(region.file)), inside)
        return tag("article", head, tag("div", rows, class_="src", role="group"), class_="region")

    def _line(self, file: str, line: int) -> Html:
        here = [m for m in self.marks if m.span.file == file and m.span.line == line]
        covering = [m for m in self.marks if m.span.file == file and _covers(m.span, line)]
        text = source.line_text(file, line)
        code = tag("code", pieces(file, line, text[:WIDE], [(m.span, m.style) for m in covering]))
        cut = tag("span", "…", class_="quiet") if len(text) > WIDE else None
        anchor = self.anchor(file, line)
        number = tag("a", line, class_="n", href=f"#{anchor}")
        style = next((f" has-{m.style}" for m in covering if m.title), "")
        notes = [self._note(m) for m in here]
        lost = self.lost.get((file, line))
        if lost is not None:
            notes.append(tag("a", lost[0], class_="m lost", href=lost[1]))
        margin = tag("span", notes, class_="margin") if notes else None
        return tag("div", number, code, cut, margin, class_=f"line{style}", id=anchor)

    def _note(self, mark: Mark) -> Html:
        label = tag("span", mark.label, class_="label") if mark.label else None
        words = [mark.title, " " if mark.title and mark.label else None, label]
        link = tag("a", words, href=f"#finding-{mark.number}")
        other = self.href(mark.other)
        there = (
            tag("a", "↔", href=other, title="the other party", class_="other") if other else None
        )
        return tag("span", link, " " if there else None, there, class_=f"m {mark.style}")


def _covers(span: Span, line: int) -> bool:
    return span.line <= line <= max(span.line, span.end_line)


def sources_of(report: Report, findings: list[Finding], measured: Iterable[Any] = ()) -> Sources:
    """The kernels that were captured, and the functions in which something was found or measured."""
    marks = [mark for number, f in enumerate(findings, 1) for mark in _marks(number, f)]
    regions = [_region(c.source, c.source.end_line) for c in report.captured]
    for finding in findings:
        places = [finding.span, *finding.callers, *[p.span for p in finding.related]]
        regions += [_around(span) for span in places if _readable(span)]
    for records in measured:
        regions += [_around(r.span) for r in records.lines if _readable(r.span)]
    return Sources(list(_merged(regions)), marks)


def _marks(number: int, finding: Finding) -> Iterator[Mark]:
    """The finding's own place, and the other ones; of a race each leads to the other."""
    style = finding.severity.value
    other = finding.related[0].span if finding.related else None
    yield Mark(number, finding.span, finding.label, style, f"{style}[{finding.kind}]", other)
    for party in finding.related:
        yield Mark(number, party.span, party.label, "party", "", finding.span)


def _readable(span: Span) -> bool:
    return bool(linecache.getline(span.file, span.line))


def _region(span: Span, last: int) -> Region:
    return Region(span.file, span.line, last, span.function)


def _around(span: Span) -> Region:
    """The function that a place is in; a few lines, if it is in none."""
    node = source.function(span)
    if node is None:
        total = len(linecache.getlines(span.file))
        return Region(span.file, max(span.line - 3, 1), min(span.line + 3, total))
    first = min([node.lineno, *[d.lineno for d in node.decorator_list]])
    return Region(span.file, first, node.end_lineno or span.line, node.name)


def _merged(regions: Iterable[Region]) -> Iterator[Region]:
    """One after the other in a file, and none twice."""
    files: dict[str, list[Region]] = {}
    for region in regions:
        files.setdefault(region.file, []).append(region)
    for found in files.values():
        found.sort(key=lambda r: (r.first, -r.last))
        now = found[0]
        for region in found[1:]:
            if region.first <= now.last:
                now.last = max(now.last, region.last)
            else:
                yield now
                now = region
        yield now


__all__ = ["Sources", "sources_of"]
