"""Answers as JSON: numbers are numbers, NaN and infinities texts; links are listed once, by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.findings import Span
from blockstep.findings.blame import Accesses, Chain, ElementAccess, Link


def as_json(answer: Chain | Accesses) -> dict[str, Any]:
    """An answer out of plain dictionaries, lists, texts and numbers.

    Of a chain, `links` has the head first; `operands` are `[role, number of the link]` pairs."""
    if isinstance(answer, Accesses):
        return {
            "argument": answer.argument,
            "element": list(answer.index),
            "type": answer.type_text,
            "count": answer.count,
            "left_out": answer.left_out,
            "before": number_of(answer.start),
            "after": number_of(answer.end),
            "error": answer.error,
            "accesses": [_access(a) for a in answer],
        }
    links = list(answer.head.walk())
    numbers = {id(link): number for number, link in enumerate(links)}
    return {
        "argument": answer.argument,
        "element": list(answer.index),
        "type": answer.type_text,
        "value": number_of(answer.value),
        "program": _listed(answer.program),
        "more": answer.more,
        "error": answer.error,
        "links": [_link(link, numbers) for link in links],
    }


def number_of(value: Any) -> Any:
    """A NumPy scalar as JSON has it; None stays."""
    if value is None:
        return None
    kind = np.asarray(value).dtype.kind
    if kind == "b":
        return bool(value)
    if kind in "iu":
        return int(value)
    number = float(value)
    return number if np.isfinite(number) else str(number)


def _access(a: ElementAccess) -> dict[str, Any]:
    return {
        "number": a.number,
        "program": list(a.program),
        "kind": a.kind,
        "op": a.op,
        "sem": a.sem,
        "scope": a.scope,
        "span": _span(a.span),
        "callers": [_span(s) for s in a.callers],
        "before": number_of(a.before),
        "after": number_of(a.after),
        "wrote": a.wrote,
        "lanes": [list(lane) for lane in a.lanes],
        "lane_count": a.lane_count,
        "through": a.through,
    }


def _link(link: Link, numbers: dict[int, int]) -> dict[str, Any]:
    place = link.place
    return {
        "op": link.op,
        "span": None if link.span is None else _span(link.span),
        "callers": [_span(s) for s in link.callers],
        "program": _listed(link.program),
        "element": list(link.element),
        "type": link.type_text,
        "value": number_of(link.value),
        "note": link.note,
        "name": link.name,
        "place": None if place is None else {"argument": place.argument, "element": [*place.index]},
        "turns": [{"number": t.number, "value": t.value} for t in link.turns],
        "took": link.took,
        "left_out": link.left_out,
        "result": link.result,
        "operands": [
            [role, numbers[id(o)]] for role, o in zip(link.roles, link.operands, strict=True)
        ],
    }


def _listed(program: Any) -> list[int] | None:
    return None if program is None else [int(i) for i in program]


def _span(span: Span) -> dict[str, Any]:
    return {
        "file": span.file, "line": span.line, "column": span.column, "end_line": span.end_line,
        "end_column": span.end_column, "function": span.function,
    }  # fmt: skip


__all__ = ["as_json", "number_of"]
