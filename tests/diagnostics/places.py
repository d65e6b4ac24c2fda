"""Source files made on the spot, and spans in them found by their text."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from blockstep.findings import Span


@dataclass(frozen=True)
class Source:
    """A file that a test wrote; `at(text)` is the span of that text in it."""

    path: Path
    text: str

    def at(self, wanted: str, function: str = "kernel") -> Span:
        """The span of the first place where `wanted` stands."""
        start = self.text.index(wanted)
        return Span(
            str(self.path),
            *self._place(start),
            *self._place(start + len(wanted)),
            function,
        )

    def line(self, wanted: str) -> Span:
        """The whole line where `wanted` stands, its column unknown."""
        number, _ = self._place(self.text.index(wanted))
        return Span(str(self.path), number, 0, number, 0, "<module>")

    def _place(self, offset: int) -> tuple[int, int]:
        before = self.text[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def source_file(folder: Path, text: str, name: str = "add.py") -> Source:
    """Writes a source file; the first line of `text` is dropped when it is empty."""
    path = folder / name
    body = dedent(text).lstrip("\n")
    path.write_text(body, encoding="utf-8")
    linecache.checkcache(str(path))
    return Source(path, body)
