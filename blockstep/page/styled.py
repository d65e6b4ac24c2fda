"""The lines of a diagnostic, which are styled for a terminal, as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable

from blockstep.page.html import Html, join, tag, text

_STYLED = re.compile("\x1b\\[([0-9;]+)m(.*?)\x1b\\[0m", re.S)
_CLASSES = {
    "1;31": "s-error",
    "1;33": "s-warning",
    "1;36": "s-note",
    "1;32": "s-help",
    "34": "s-gutter",
    "1": "s-title",
}


def styled(line: str) -> Html:
    """A line as `diagnostics.render` colours it."""
    parts: list[Html] = []
    at = 0
    for found in _STYLED.finditer(line):
        parts.append(text(line[at : found.start()]))
        parts.append(tag("span", found[2], class_=_CLASSES.get(found[1])))
        at = found.end()
    return join([*parts, text(line[at:])])


def styled_lines(lines: Iterable[str]) -> Html:
    """Several lines, for a `pre`."""
    return Html("\n".join(styled(line) for line in lines))


def plain(line: str) -> str:
    """The line without its colours."""
    return _STYLED.sub(lambda found: found[2], line)


__all__ = ["plain", "styled", "styled_lines"]
