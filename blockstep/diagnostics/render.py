"""A finding as text: header, source with carets, facts, related places, help; and the summary.

Invariant: the same finding gives the same text everywhere but for paths; a file that cannot be read
costs the source lines only. Form: the house rules on how a diagnostic reads.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from blockstep.diagnostics import source
from blockstep.diagnostics.words import plural
from blockstep.findings import OURS, Finding, Party, Report, Severity, Span, unknown_names

TAB = 4
MOST_LINES = 5  # of one expression
_STYLES = {
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "help": "1;32",
    "gutter": "34",
    "title": "1",
    "": "",
}


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours, or none."""

    on: bool = False

    def __call__(self, text: str, style: str) -> str:
        code = _STYLES[style]
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and code and text else text


@dataclass(frozen=True, slots=True)
class _Mark:
    """A span to underline, with the text that stands after its carets."""

    span: Span
    label: str
    style: str


def render(finding: Finding, color: bool = False) -> str:
    """The whole diagnostic, without a newline at its end."""
    return "\n".join(line for part in sections(finding, color) for line in part.lines)


def render_all(findings: Iterable[Finding], color: bool = False) -> str:
    """Diagnostics one after the other, with an empty line between."""
    return "\n\n".join(render(finding, color) for finding in findings)


def summary(report: Report, color: bool = False) -> str:
    """2 errors, 1 warning in 3 launches."""
    found = report.findings
    counts = [(s, sum(f.severity is s for f in found)) for s in reversed(list(Severity))]
    counts.sort(key=lambda pair: -pair[0].rank)
    texts = [Paint(color)(plural(n, s.value), s.value) for s, n in counts if n]
    extra = [
        f"{report.allowed} allowed" if report.allowed else "",
        f"{report.dropped} past the limit of {report.filters.max_findings}"
        if report.dropped
        else "",
        _left_out(report),
    ]
    launches = plural(len(report.launches), "launch").replace("launchs", "launches")
    tail = "".join(f"; {text}" for text in extra if text)
    return f"{', '.join(texts) or 'no findings'} in {launches}{tail}"


def _left_out(report: Report) -> str:
    """How many launches the filters left, or that they left none."""
    filters, launches = report.filters, report.launches
    if filters.kernel is None and filters.launches is None:
        return ""
    judged = sum(filters.judges(launch.kernel, launch.number) for launch in launches)
    if judged or not launches:
        return f"{judged} judged" if judged < len(launches) else ""
    names = dict.fromkeys(launch.kernel for launch in launches)
    return f"none of them is what --kernel and --launch ask for (launched: {', '.join(names)})"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a diagnostic: its lines as they are shown, and the place in the source that it is
    about, if it is about one. Of "fact", "help" and "note" each is one."""

    name: Literal["title", "place", "source", "fact", "party", "from", "help", "note"]
    lines: tuple[str, ...]
    span: Span | None = None


def sections(finding: Finding, color: bool = False) -> Iterator[Section]:
    """The diagnostic part by part; all lines in this order are its text."""
    paint = Paint(color)
    yield Section("title", (_header(finding, paint),))
    marks = _marks(finding)
    width = _gutter(marks, finding)
    yield Section("place", (f"{_arrow(width, paint)} {_place(finding)}",), finding.span)
    yield Section("source", tuple(_snippet(marks, width, paint)), finding.span)
    for fact in _facts(finding):
        yield Section("fact", (f"{' ' * width} {paint('=', 'gutter')} {fact}",))
    for party in finding.related:
        if party.span.file != finding.span.file:
            yield Section("party", tuple(_party(party, width, paint)), party.span)
    for place, lines in _came_from(finding, width, paint):
        yield Section("from", lines, place)
    for text in finding.help:
        yield Section("help", (f"{paint('help', 'help')}: {text}",))
    for text in (*finding.notes, *_seen(finding), *_misspelt(finding)):
        yield Section("note", (f"{paint('note', 'note')}: {text}",))


def _party(party: Party, width: int, paint: Paint) -> Iterator[str]:
    """A related place in another file."""
    yield f"{paint('note', 'note')}: {party.label}"
    yield f"{_arrow(width, paint)} {_position(party.span)}"
    yield from _snippet([_Mark(party.span, "", "note")], width, paint)


def _header(finding: Finding, paint: Paint) -> str:
    word = finding.severity.value
    code = finding.kind if finding.kind in OURS else f"{word}[{finding.kind}]"
    return f"{paint(code, word)}{paint(': ' + finding.message, 'title')}"


def _marks(finding: Finding) -> list[_Mark]:
    """What is underlined in the main snippet: related places of the same file, the place itself."""
    style = finding.severity.value
    same = [p for p in finding.related if p.span.file == finding.span.file]
    found = [_Mark(p.span, p.label, "note") for p in same]
    found.append(_Mark(finding.span, finding.label, style))
    return sorted(found, key=lambda m: m.span.line)


def _gutter(marks: list[_Mark], finding: Finding) -> int:
    others = [p.span for p in finding.related] + [m.span for m in marks]
    return max(2, *(len(str(max(s.line, s.end_line))) for s in others))


def _facts(finding: Finding) -> tuple[str, ...]:
    """The `=` lines; labels come first when there is no source to put them under."""
    bare = [
        m.label
        for m in _marks(finding)
        if m.label and not source.line_text(m.span.file, m.span.line)
    ]
    return (*bare, *finding.facts)


def _arrow(width: int, paint: Paint) -> str:
    return " " * width + paint("-->", "gutter")


def _position(span: Span) -> str:
    column = f":{span.column}" if span.column else ""
    return f"{source.place(span)}{column}"


def _place(finding: Finding) -> str:
    function = finding.span.function
    inside = f" in {function}" if function and function != "<module>" else ""
    if inside and finding.kernel and finding.kernel != function:
        inside += f", called from {finding.kernel}"
    return _position(finding.span) + inside


def _came_from(
    finding: Finding, width: int, paint: Paint
) -> Iterator[tuple[Span, tuple[str, ...]]]:
    """The calls that led here, and the launch."""
    places = [("called from here", span) for span in finding.callers]
    passed = finding.passed_at
    if passed is not None and finding.argument and not _same_line(passed, finding.span):
        places.append((f"`{finding.argument}` was passed here", passed))
    elif finding.host is not None and not _same_line(finding.host, finding.span):
        places.append(("launched here", finding.host))
    for text, span in places:
        line = source.line_text(span.file, span.line).strip()
        where = f"{_arrow(width, paint)} {source.place(span)}" + (f"  {line}" if line else "")
        yield span, (f"{paint('note', 'note')}: {text}", where)


def _same_line(one: Span, two: Span) -> bool:
    return (one.file, one.line) == (two.file, two.line)


def _seen(finding: Finding) -> Iterator[str]:
    if finding.occurrences > 1:
        where = (
            f", in {plural(finding.programs, 'program instance')}" if finding.programs > 1 else ""
        )
        yield f"seen {finding.occurrences} times{where}"


def _misspelt(finding: Finding) -> Iterator[str]:
    for name in unknown_names(source.allowed_names(finding.span)):
        yield f"the comment here allows `{name}`, which is no kind or checker"


def _snippet(marks: list[_Mark], width: int, paint: Paint) -> Iterator[str]:
    """Source lines with carets; a line that two marks share is shown once."""
    shown = 0
    before: Span | None = None
    for mark in marks:
        last = max(mark.span.line, mark.span.end_line)
        rows = [last] if mark.span == before else _rows(mark.span.line, last)
        before = mark.span
        for row in rows:
            text = source.line_text(mark.span.file, row) if row else "..."
            if not text.strip():
                continue
            if row != shown:
                yield _numbered(row, text, width, paint)
            shown = row or shown
            if row:
                yield from _underline(mark, row, row == rows[-1], text, width, paint)


def _rows(first: int, last: int) -> list[int]:
    """Lines to show of an expression; 0 stands for what is left out."""
    rows = list(range(first, last + 1))
    return rows if len(rows) <= MOST_LINES else [*rows[:2], 0, *rows[-2:]]


def _numbered(row: int, text: str, width: int, paint: Paint) -> str:
    number = str(row) if row else ""
    return f"{paint(f'{number:>{width}} |', 'gutter')} {text.expandtabs(TAB)}".rstrip()


def _underline(
    mark: _Mark, row: int, last: bool, text: str, width: int, paint: Paint
) -> Iterator[str]:
    span = mark.span
    start = len(text) - len(text.lstrip())
    end = len(text)
    if span.column and row == span.line:
        start = min(span.column - 1, len(text))
    if span.end_column and row == max(span.line, span.end_line):
        end = min(max(span.end_column - 1, start + 1), max(len(text), start + 1))
    before = _columns(text[:start])
    carets = "^" * max(1, _columns(text[:end]) - before)
    label = f" {mark.label}" if last and mark.label else ""
    gutter = paint(f"{'':>{width}} |", "gutter")
    yield f"{gutter} {' ' * before}{paint(carets + label, mark.style)}"


def _columns(text: str) -> int:
    """Columns that a terminal gives to a text: wide characters take two."""
    flat = text.expandtabs(TAB)
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in flat
        if not unicodedata.combining(c)
    )
