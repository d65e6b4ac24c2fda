"""Links by lines of source: which of them a reader is shown, under which name, in which order."""

from __future__ import annotations

import ast
import heapq
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from blockstep.diagnostics.source import span_text, statement
from blockstep.findings import Span
from blockstep.findings.blame import Link

_LONGEST = 28  # characters of an expression that stands for a name
_SOURCES = frozenset({"constant", "arange", "splat"})


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A value that left its line of source, the operations of that line that made it (`inner`), and
    the values of other lines that went in."""

    link: Link
    inner: tuple[Link, ...]
    operands: tuple[Link, ...]

    @property
    def followed(self) -> list[Link]:
        """Those of the operands that have entries of their own, with the most important first: of
        several terms and products one."""
        carriers = [x for x in self.operands if _is_odd(x.value) and _same_kind(x, self.link)]
        chosen = carriers if _is_odd(self.link.value) and carriers else list(self.operands)
        lesser = {
            id(operand)
            for part in (self.link, *self.inner)
            for operand in _lesser(part)
        }  # fmt: skip
        return [x for x in chosen if x.span is not None and id(x) not in lesser]


def _lesser(link: Link) -> list[Link]:
    """All terms but the first, all products but the first."""
    terms = [o for o, role in zip(link.operands, link.roles, strict=True) if role == "term"]
    pairs = [o for o, role in zip(link.operands, link.roles, strict=True) if role in _PAIR]
    return [*terms[1:], *pairs[2:]]


_PAIR = ("left", "right")


def entries(head: Link, most: int) -> tuple[list[Entry], int]:
    """The nearest `most` entries behind a link, each once, and how many more there are."""
    waiting: list[tuple[int, int, Link]] = [(0, 0, head)]
    seen, found, count = {id(head)}, [], 0
    while waiting:
        depth, _, link = heapq.heappop(waiting)
        entry = entry_of(link)
        found.append(entry)
        for operand in entry.followed:
            if id(operand) not in seen:
                seen.add(id(operand))
                count += 1
                heapq.heappush(waiting, (depth + 1, count, operand))
    return found[:most], max(len(found) - most, 0)


def entry_of(link: Link) -> Entry:
    """Gathers what stands on a link's line: operands that stand there too give way to theirs."""
    line, inner, outer = line_of(link), [], []
    seen, waiting = {id(link)}, list(reversed(link.operands))
    while waiting:
        operand = waiting.pop()
        if id(operand) in seen:
            continue
        seen.add(id(operand))
        if operand.span is not None and line_of(operand) == line:
            inner.append(operand)
            waiting += reversed(operand.operands)
        elif operand.op not in _SOURCES or operand.span is not None:
            outer.append(operand)
    return Entry(link, tuple(inner), tuple(outer))


def line_of(link: Link) -> Any:
    """The execution of a statement that an operation belongs to."""
    if link.span is None:
        return id(link)
    first = statement_line(link.span)
    return link.span.file, first, link.callers, link.program, link.turns


def statement_line(span: Span) -> int:
    """The first line of the statement at a span."""
    found = _statement(span.file, span.line)
    return span.line if found is None else found.lineno


@lru_cache(maxsize=4096)
def _statement(file: str, line: int) -> ast.stmt | None:
    return statement(Span(file, line, 1))


def name_of(link: Link) -> str:
    """The variable that a value was assigned to, else the expression that it is, else the operation."""
    if link.op == "argument":
        return link.name
    if link.span is None:
        return link.op
    found = _statement(link.span.file, link.span.line)
    target = _target(found, link.span)
    if target:
        return target
    text = " ".join(span_text(link.span).split())
    if not text or len(text) > _LONGEST:
        return f"{link.op}(...)"
    return text if _is_tight(text) else f"({text})"


def _target(found: ast.stmt | None, span: Span) -> str:
    """The one name that a statement assigns, if the span is all of its right side."""
    if isinstance(found, ast.Assign) and len(found.targets) == 1:
        target, value = found.targets[0], found.value
    elif isinstance(found, ast.AugAssign):
        target, value = found.target, found.value
        if span.column == target.col_offset + 1:  # the operation is the statement itself
            return target.id if isinstance(target, ast.Name) else ""
        return ""
    elif isinstance(found, ast.AnnAssign) and found.value is not None:
        target, value = found.target, found.value
    else:
        return ""
    whole = (span.line, span.column) == (value.lineno, value.col_offset + 1)
    ends = (span.end_line, span.end_column) == (value.end_lineno, (value.end_col_offset or 0) + 1)
    return target.id if isinstance(target, ast.Name) and whole and ends else ""


def _is_tight(text: str) -> bool:
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    return isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant)


def value_text(value: Any) -> str:
    """A value as a person writes it, with the digits of its own type."""
    if value is None:
        return "?"
    kind = np.asarray(value).dtype.kind
    if kind == "b":
        return str(bool(value)).lower()
    return str(value).removesuffix(".0")


def _is_odd(value: Any) -> bool:
    return (
        value is not None and np.asarray(value).dtype.kind not in "biu" and not np.isfinite(value)
    )


def _same_kind(x: Link, y: Link) -> bool:
    return _is_odd(y.value) and bool(np.isnan(x.value) == np.isnan(y.value))


__all__ = ["Entry", "entries", "entry_of", "line_of", "name_of", "value_text"]
