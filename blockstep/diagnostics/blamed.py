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
    """A value that left its line of source, the operations of that line that made it (`inner`), the
    values of other lines that went in, and those of them that have entries of their own."""

    link: Link
    inner: tuple[Link, ...]
    operands: tuple[Link, ...]
    followed: tuple[Link, ...]


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
    """Gathers what stands on a link's line: operands that stand there too give way to theirs. Of
    several terms and products only the first are followed, and beside NaN only NaN."""
    line, inner, outer = line_of(link), [], []
    best: dict[int, bool] = {id(link): True}  # whether it is reached by a way that is followed
    waiting = [(o, first) for o, first in reversed(_ranked(link))]
    while waiting:
        operand, first = waiting.pop()
        known = best.get(id(operand))
        if known or known is first:
            continue
        best[id(operand)] = first
        here = operand.span is not None and line_of(operand) == line
        if known is None and here:
            inner.append(operand)
        elif known is None and (operand.op not in _SOURCES or operand.span is not None):
            outer.append(operand)
        if here:
            waiting += [(o, first and mine) for o, mine in reversed(_ranked(operand))]
    carriers = [x for x in outer if _is_odd(x.value) and _same_kind(x, link)]
    chosen = carriers if _is_odd(link.value) and carriers else outer
    followed = [x for x in chosen if x.span is not None and best[id(x)]]
    return Entry(link, tuple(inner), tuple(outer), tuple(followed))


def _ranked(link: Link) -> list[tuple[Link, bool]]:
    """The operands; whether each is more than a lesser term or product."""
    found, terms, pairs = [], 0, 0
    for operand, role in zip(link.operands, link.roles, strict=True):
        found.append((operand, not (role == "term" and terms or role in _PAIR and pairs >= 2)))
        terms += role == "term"
        pairs += role in _PAIR
    return found


_PAIR = ("left", "right")


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
    target = _target(found, link.span, link.result)
    if target:
        return target
    text = " ".join(span_text(link.span).split())
    if not text or len(text) > _LONGEST:
        return f"{link.op}(...)"
    return text if _is_tight(text) else f"({text})"


def _target(found: ast.stmt | None, span: Span, result: int | None) -> str:
    """The name that a statement assigns the value of a span to. (An augmented assignment is an
    operation of its own, that of its whole.)"""
    target: ast.expr | None
    if isinstance(found, ast.AugAssign):
        return _name(found.target) if span.column == found.target.col_offset + 1 else ""
    if isinstance(found, ast.AnnAssign):
        target, value = found.target, found.value
    elif isinstance(found, ast.Assign) and len(found.targets) == 1:
        target, value = found.targets[0], found.value
    else:
        return ""
    if isinstance(target, ast.Tuple):
        if isinstance(value, ast.Tuple):
            places = [k for k, item in enumerate(value.elts) if _is_at(item, span)]
        else:
            places = [] if result is None or not _is_at(value, span) else [result]
        return _name(target.elts[places[0]]) if places and places[0] < len(target.elts) else ""
    return _name(target) if _is_at(value, span) and result is None else ""


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_at(node: ast.expr | None, span: Span) -> bool:
    """Whether an expression is all of a span."""
    return (
        node is not None
        and (node.lineno, node.end_lineno) == (span.line, span.end_line)
        and (
            (node.col_offset + 1, (node.end_col_offset or 0) + 1) == (span.column, span.end_column)
        )
    )


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
