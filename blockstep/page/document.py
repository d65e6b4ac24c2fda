"""The page: one file that loads nothing. Styles and script lie beside this module.

The policy in its head names the one script and the one style sheet by their digests and allows nothing
else, so that not even a mistake in escaping could run or load something.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import blockstep
from blockstep import diagnostics
from blockstep.diagnostics.words import plural
from blockstep.findings import Finding, Report, Severity
from blockstep.page import findings as cards
from blockstep.page.html import Html, join, tag
from blockstep.page.launches import launches
from blockstep.page.precision import margins, precision
from blockstep.page.sources import sources_of


@dataclass(frozen=True, slots=True)
class About:
    """What the page is of: facts for its head, by name."""

    title: str = "blockstep report"
    facts: tuple[tuple[str, str], ...] = ()
    more: str = ""  # a text that is shown in full: what `verify` says of each rung


def page(report: Report, about: About | None = None, measured: Sequence[Any] = ()) -> str:
    """The whole page. `measured`: precision reports that no captured launch has."""
    about = about or About()
    every = report.findings
    shown = every[: cards.MOST]
    reports = [
        (f"launch {c.number}: {c.kernel}", c.precision) for c in report.captured if c.precision
    ]
    reports += [("", r) for r in measured]
    lines = sources_of(report, shown, [r for _, r in reports])
    lines.lost = margins(reports)
    sections = {
        "findings": cards.cards(shown, lines, len(every) - len(shown)),
        "rungs": _text(about.more),
        "source": lines.html(),
        "launches": launches(report, shown, lines),
        "precision": precision(reports, lines),
    }
    there = {name: section for name, section in sections.items() if section is not None}
    return _document(about, _head(report, about, every, list(there)), join(there.values()))


def save(path: str | Path, made: str) -> None:
    """Writes a page to a file. Raises OSError."""
    Path(path).write_text(made, encoding="utf-8", newline="\n")


def now() -> tuple[str, str]:
    """The date as a fact."""
    return "date", datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")


def _head(report: Report, about: About, every: list[Finding], sections: list[str]) -> Html:
    counts = [(s.value, sum(f.severity is s for f in every)) for s in reversed(list(Severity))]
    order = ("error", "warning", "note")
    counts.sort(key=lambda pair: order.index(pair[0]))
    chips = [
        tag("li", tag("strong", count), f" {plural(count, style).partition(' ')[2]}",
            class_=f"chip {style if count else 'none'}", data_severity=style)
        for style, count in counts
    ]  # fmt: skip
    chips.append(
        tag("li", tag("strong", len(report.launches)),
            " launch" if len(report.launches) == 1 else " launches", class_="chip")
    )  # fmt: skip
    machines = ", ".join(dict.fromkeys(r.machine for r in report.launches))
    facts = [*about.facts, *([("machine", machines)] if machines else [])]
    facts.append(("blockstep", blockstep.__version__))
    listed = [(tag("dt", name), tag("dd", value)) for name, value in facts]
    links = [tag("a", name, href=f"#{name}") for name in sections]
    return tag(
        "header",
        tag("h1", about.title),
        tag("ul", chips, class_="chips"),
        tag("p", diagnostics.summary(report), class_="summary"),
        tag("dl", listed),
        tag("nav", links, tag("span", class_="keys"), aria_label="sections"),
        class_="top",
    )


def _text(more: str) -> Html | None:
    if not more:
        return None
    body = tag("pre", more, class_="wide", tabindex="0")
    return tag("section", tag("h2", "Rungs"), body, id="rungs")


def _document(about: About, head: Html, body: Html) -> str:
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    meta = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", about.title),
        Html(f"<style>{style}</style>"),
    ]
    hatch = Html(
        '<svg class="defs" aria-hidden="true"><defs><pattern id="hatch" width=".3" height=".3" '
        'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="under" '
        'width=".3" height=".3"/><rect class="over" width=".12" height=".3"/></pattern></defs></svg>'
    )
    whole = tag(
        "html", tag("head", meta),
        tag("body", hatch, head, tag("main", body), Html(f"<script>{script}</script>")), lang="en",
    )  # fmt: skip
    return f"<!DOCTYPE html>\n{whole}\n"


@cache
def _asset(name: str) -> Html:
    return Html(files("blockstep.page").joinpath(name).read_text(encoding="utf-8"))


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


__all__ = ["About", "now", "page", "save"]
