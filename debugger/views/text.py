"""Styled text: what every view makes, and the screen and the plain prompt show.

A `Shown` has lines of (style, text) fragments as prompt_toolkit has them, and *spots*: which columns
of which line stand for which element, program instance or source line. It knows no terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

Fragment = tuple[str, str]
Line = list[Fragment]


@dataclass(frozen=True, slots=True)
class Spot:
    """Columns `left` to `right` (past the last) of a line, and what they stand for."""

    row: int
    left: int
    right: int
    target: Any


@dataclass(frozen=True, slots=True)
class Shown:
    """What a view shows. `cursor` is the line that has to be in sight."""

    lines: list[Line]
    spots: list[Spot] = field(default_factory=list)
    cursor: int = 0

    def at(self, row: int, column: int) -> Any:
        """What a place on the screen stands for; None for nothing."""
        for spot in self.spots:
            if spot.row == row and spot.left <= column < spot.right:
                return spot.target
        return None

    @property
    def text(self) -> str:
        """Without styles, for the plain prompt and for tests."""
        return "\n".join(plain(line) for line in self.lines)


def plain(line: Iterable[Fragment]) -> str:
    """The text of a line."""
    return "".join(text for _, text in line).rstrip()


def width_of(line: Iterable[Fragment]) -> int:
    """How many characters a line has."""
    return sum(len(text) for _, text in line)


def cut(line: Line, width: int, more: str = "…") -> Line:
    """The line in at most `width` columns; `more` stands for what is left out."""
    if width_of(line) <= width:
        return line
    left, kept = width - len(more), []
    for style, text in line:
        if left <= 0:
            break
        kept.append((style, text[:left]))
        left -= len(text)
    return [*kept, ("", more[: max(width, 0)])]


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most `width` characters, broken at spaces where there are any; lines that go on
    begin with `indent`."""
    found: list[str] = []
    for line in text.split("\n"):
        while len(line) > width > len(indent) + 1:
            at = line.rfind(" ", len(indent) + 1, width + 1)
            at = at if at > 0 else width
            found.append(line[:at])
            line = indent + line[at:].lstrip()
        found.append(line)
    return found


def columns(rows: Sequence[Sequence[Fragment]], gap: int = 2) -> list[Line]:
    """Rows of cells as lines: each column as wide as its widest text, the last as it is."""
    if not rows:
        return []
    widths = [max(len(cell[1]) for cell in column) for column in zip(*rows, strict=True)]
    lines: list[Line] = []
    for row in rows:
        line: Line = []
        for (style, text), width in zip(row[:-1], widths, strict=False):
            line += [(style, text), ("", " " * (width - len(text) + gap))]
        lines.append([*line, row[-1]])
    return lines


def said(text: str, style: str = "class:quiet") -> Shown:
    """One remark, where there is nothing to show."""
    return Shown([[(style, line)] for line in text.split("\n")])


__all__ = [
    "Fragment",
    "Line",
    "Shown",
    "Spot",
    "columns",
    "cut",
    "plain",
    "said",
    "width_of",
    "wrap",
]
