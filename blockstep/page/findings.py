"""Findings as cards, in the words that a terminal shows (`diagnostics.render.sections`)."""

from __future__ import annotations

from blockstep.diagnostics.render import Section, sections
from blockstep.diagnostics.words import plural
from blockstep.findings import Finding
from blockstep.page.html import Html, join, tag
from blockstep.page.sources import Sources
from blockstep.page.styled import plain, styled, styled_lines

MOST = 200  # cards


def cards(findings: list[Finding], sources: Sources, left_out: int) -> Html:
    """The section of all findings."""
    if not findings:
        body = tag("p", "No findings: nothing that was checked is wrong.", class_="clean")
        return tag("section", tag("h2", "Findings"), body, id="findings")
    more = None
    if left_out:
        words = f"{plural(left_out, 'more finding')} not shown here; --json FILE writes all of them"
        more = tag("p", words, class_="quiet")
    shown = [card(n, f, sources) for n, f in enumerate(findings, 1)]
    return tag("section", tag("h2", "Findings"), shown, more, id="findings")


def card(number: int, finding: Finding, sources: Sources | None = None) -> Html:
    """One finding."""
    parts = list(sections(finding, color=True))
    style = finding.severity.value
    title = tag("h3", tag("a", f"{number}", class_="no", href=f"#finding-{number}"), " ",
                styled(parts[0].lines[0]))  # fmt: skip
    body = [_part(part, sources) for part in parts[1:]]
    launch = None
    if sources is not None and finding.launch is not None:
        launch = tag(
            "a", f"launch {finding.launch}", class_="where", href=f"#launch-{finding.launch}"
        )
    return tag(
        "article", tag("header", title, launch), body, class_=f"card {style}",
        id=f"finding-{number}", data_severity=style, data_kind=finding.kind, tabindex="-1",
    )  # fmt: skip


def _part(part: Section, sources: Sources | None) -> Html | None:
    lines = [line for line in part.lines if line]
    if not lines:
        return None
    if part.name in ("fact", "help", "note"):
        return _sentence(part)
    href = sources.href(part.span) if sources is not None else None
    body = styled_lines(lines)
    if href and part.name in ("place", "from"):
        *before, last = lines
        link = tag("a", styled(last), href=href)
        body = join([styled_lines(before), "\n" if before else "", link])
    return tag("pre", body, class_=part.name)


def _sentence(part: Section) -> Html:
    """`= …`, `help: …` and `note: …`: the sign stands apart, the rest may be wrapped."""
    sign, _, words = plain(part.lines[0]).strip().partition(" ")
    rest = [words, *part.lines[1:]]
    code = tag("code", "\n".join(rest)) if part.name == "help" else "\n".join(rest)
    return tag("p", tag("span", sign, class_=f"sign s-{part.name}"), " ", code, class_=part.name)


__all__ = ["MOST", "card", "cards"]
