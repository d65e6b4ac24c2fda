"""Places in source as the prompt shows them: `add.py:10 in add`, the line, listings."""

from __future__ import annotations

import linecache
from collections.abc import Collection, Iterator

from blockstep.diagnostics.source import line_text, shown_path
from blockstep.diagnostics.words import triple
from blockstep.findings import Span

AROUND = 5  # lines before and after, in `list`


def place_text(file: str, line: int, function: str = "") -> str:
    """add.py:10 in add."""
    inside = f" in {function}" if function and function != "<module>" else ""
    return f"{shown_path(file)}:{line}{inside}"


def current_line(file: str, line: int) -> str:
    """`10 ->     x = tl.load(x_ptr + offs)`; without a source only the number."""
    return f"{line:>4} -> {line_text(file, line)}".rstrip()


def caret_lines(span: Span) -> list[str]:
    """The line of a span and carets under its expression."""
    text = line_text(span.file, span.line)
    shown = f"{span.line:>4} -> {text}"
    if not text or not span.column:
        return [shown.rstrip()]
    end = span.end_column if span.end_line in (0, span.line) and span.end_column else len(text) + 1
    carets = "^" * max(end - span.column, 1)
    blank = "".join(c if c == "\t" else " " for c in text[: span.column - 1])
    return [shown, f"        {blank}{carets}"]


def numbered(
    file: str, first: int, last: int, current: int = 0, marked: Collection[int] = ()
) -> Iterator[str]:
    """Lines of a file with their numbers, B where a breakpoint is and `->` at the current one."""
    for number in range(max(first, 1), min(last, line_count(file)) + 1):
        mark = "B" if number in marked else " "
        arrow = "->" if number == current else "  "
        yield f"{number:>4}{mark}{arrow} {line_text(file, number)}".rstrip()


def line_count(file: str) -> int:
    """How many lines a file has; 0 for one that cannot be read."""
    return len(linecache.getlines(file))


def instance_text(program: tuple[int, int, int], grid: tuple[int, int, int] | None = None) -> str:
    """program instance (1, 0, 0) of grid (3, 1, 1)."""
    whole = f" of grid {triple(grid)}" if grid is not None else ""
    return f"program instance {triple(program)}{whole}"


__all__ = [
    "AROUND",
    "caret_lines",
    "current_line",
    "instance_text",
    "line_count",
    "numbered",
    "place_text",
]
