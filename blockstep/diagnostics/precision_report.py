"""Wording of what shadows tell: a report of one launch for a terminal of 80 columns, and as JSON."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from blockstep.diagnostics.decisions import (
    MOST,
    costs_text,
    fix,
    number,
    title,
    verdict_text,
    wrapped,
)
from blockstep.diagnostics.source import line_text, shown_path, tf32_by_default
from blockstep.diagnostics.words import element_text, plural, triple

MOST_LINES = 12  # of source, the worst ones
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "fdiv": "/", "div_rn": "/"}
_CALLS = {
    "dot": "tl.dot", "reduce": "the reduction", "scan": "the scan", "cast": "the cast",
    "exp": "tl.exp", "exp2": "tl.exp2", "log": "tl.log", "log2": "tl.log2",
}  # fmt: skip


def text_of(report: Any, top: int = MOST) -> str:
    """The whole report; of decisions, the `top` dearest."""
    return "\n".join(_text(report, top))


def _text(report: Any, top: int) -> Iterator[str]:
    result = report.result
    yield f"{report.kernel}, grid {triple(report.grid)}"
    if result.measured < result.programs:
        yield from wrapped(
            f"{result.measured} of {plural(result.programs, 'program instance')} measured, the first"
            " and the last; --all measures every one"
        )
    if result.machine == "step" and result.because:
        yield from wrapped(f"on the step machine: {result.because}")
    if not result.lines:
        yield "  exact: nothing is rounded"
        return
    for made in result.outputs.values():
        yield from wrapped(_output(made))
    yield ""
    yield from _lines(result.lines)
    if report.not_tried:
        yield from wrapped(f"no decision was tried: {report.not_tried}", 0)
    if report.measured is not None:
        yield from costs_text(report.measured, top)
    for verdict in report.verdicts:
        yield ""
        yield from verdict_text(verdict)


def _output(made: Any) -> str:
    odd = [f"{n} {what}" for n, what in ((made.nan, "NaN"), (made.infinite, "infinite")) if n]
    told = f" ({', '.join(odd)} of {plural(made.elements, 'element')})" if odd else ""
    if not made.worst_ulps:
        return f"{made.name}: {made.type}, exact{' but for these' if odd else ''}{told}"
    where = element_text(made.name, made.index)
    return (
        f"{made.name}: {made.type}{told}, off by {number(made.relative)} of its size (rms),"
        f" at most {_ulps(made.worst_ulps)} at {where}"
    )


def by_line(records: Any) -> list[tuple[tuple[str, int], list[Any]]]:
    """File and line with what is known of it, the worst first; lines that lose nothing are left out."""
    found: dict[tuple[str, int], list[Any]] = {}
    for record in records:
        found.setdefault((record.span.file, record.span.line), []).append(record)
    ranked = sorted(found.items(), key=lambda pair: -_weight(pair[1]))
    return [pair for pair in ranked if _weight(pair[1]) > 0]


def _lines(records: Any) -> Iterator[str]:
    ranked = by_line(records)
    shown = sorted(ranked[:MOST_LINES], key=lambda pair: pair[0])
    file = ""
    for (name, line), here in shown:
        if name != file:
            file = name
            yield f"{shown_path(name)}    introduced, of the size of the values"
        most = max(r.introduced for r in here)
        yield f"{line:>5} | {number(most):>8} | {_cut(line_text(name, line).strip(), 60)}"
        for text in list(causes(here)) or [_plain(here)]:
            first, *rest = textwrap.wrap(text, 58)
            yield f"      |          | ^ {first}"
            yield from (f"      |          |   {more}" for more in rest)
    if len(ranked) > MOST_LINES:
        yield f"      and {plural(len(ranked) - MOST_LINES, 'line')} that lose less"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _weight(records: list[Any]) -> float:
    special = sum(
        r.nan_born
        + r.overflowed
        + r.cancelled
        + r.underflowed
        + r.vanished
        + r.saturated
        + r.decided
        + (r.inf_born if r.inf and math.isfinite(r.inf.shadow) else 0)
        for r in records
    )
    return float(max(r.introduced for r in records)) + (1e6 if special else 0.0)


def causes(records: list[Any]) -> Iterator[str]:
    """What went wrong in a line, a sentence for each kind of loss."""
    for r in records:
        name = _name(r)
        if r.nan_born and r.nan is not None:
            yield f"NaN is born: {_formula(r, r.nan)}{_times(r.nan_born)}"
        if r.overflowed and r.overflow is not None:
            yield (
                f"{name} overflows {r.type}: {number(r.overflow.shadow)} becomes"
                f" {number(r.overflow.value)}{_times(r.overflowed)}"
            )
        if r.inf_born and r.inf is not None:
            rather = r.inf.shadow == r.inf.shadow and abs(r.inf.shadow) != float("inf")
            would = f", and would be {number(r.inf.shadow)} without rounding" if rather else ""
            yield f"infinity is born: {_formula(r, r.inf)}{would}{_times(r.inf_born)}"
        if r.cancelled and r.cancellation is not None:
            yield (
                f"cancellation: {_formula(r, r.cancellation)} loses {r.cancelled_bits:.0f} bits: what was"
                f" rounded before stands in the first places{_times(r.cancelled)}"
            )
        if r.underflowed and r.underflow is not None:
            yield (
                f"{name} underflows to zero: {number(r.underflow.shadow)} is too small for {r.type}"
                f"{_times(r.underflowed)}"
            )
        if r.vanished and r.vanishing is not None:
            yield (
                f"{name} gives zero for {number(r.vanishing.shadow)}: what it is made of was rounded away"
                f"{_times(r.vanished)}"
            )
        if r.saturated and r.saturation is not None:
            yield (
                f"{name} saturates: {number(r.saturation.shadow)} becomes"
                f" {number(r.saturation.value)}, the largest of {r.type}{_times(r.saturated)}"
            )
        if r.subnormal:
            yield f"{name} gives subnormal numbers, which have fewer bits{_times(r.subnormal)}"
        if r.rounded_inputs:
            default = ": nobody asked for it, it is the default" if tf32_by_default(r.span) else ""
            yield f"{name} rounds its fp32 operands to {r.rounded_inputs}, 10 bits{default}"
        if r.decided and r.decision is not None:
            yield f"{name} would be decided otherwise without rounding{_times(r.decided)}"


def _plain(records: list[Any]) -> str:
    """A line that only rounds."""
    r = max(records, key=lambda r: r.introduced)
    return f"{_name(r)} rounds to {r.type}, by {_ulps(r.introduced_ulps)} at most"


def _name(record: Any) -> str:
    return _CALLS.get(record.op, f"`{_SIGNS.get(record.op, record.op)}`")


def _formula(record: Any, example: Any) -> str:
    numbers = [number(x) for x in example.operands]
    sign = _SIGNS.get(record.op)
    if sign and len(numbers) == 2:
        text = f"{numbers[0]} {sign} {numbers[1]}"
    else:
        text = f"{record.op}({', '.join(numbers)})"
    return f"{text} = {number(example.value)}"


def _times(count: int) -> str:
    return f" ({plural(count, 'element')})"


def _ulps(count: float) -> str:
    return f"{count:.1f} ulps" if count < 1e4 else f"{count:.1e} ulps"


def json_of(report: Any) -> dict[str, Any]:
    """Plain data: lines, outputs, costs, verdicts."""
    result = report.result
    lines = []
    for r in result.lines:
        told = asdict(r)
        told |= {"mean_ulps": r.mean_ulps, "introduced": r.introduced, "relative": r.relative}
        lines.append(told)
    outputs = {
        o.name: {
            "type": o.type, "elements": o.elements, "worst_ulps": o.worst_ulps,
            "mean_ulps": o.mean_ulps, "relative": o.relative, "index": list(o.index),
        }
        for o in result.outputs.values()
    }  # fmt: skip
    return {
        "kernel": report.kernel, "grid": list(report.grid), "programs": result.programs,
        "measured": result.measured, "machine": result.machine, "lines": lines, "outputs": outputs,
        "costs": [_cost_json(c) for c in report.costs],
        "verdicts": [asdict(v) for v in report.verdicts],
    }  # fmt: skip


def _cost_json(cost: Any) -> dict[str, Any]:
    decision = cost.decision
    return {
        "file": decision.span.file, "line": decision.span.line, "column": decision.span.column,
        "what": decision.what.name.lower(), "type": decision.kind.codegen_name(),
        "name": decision.name, "text": title(decision), "fix": fix(decision),
        "output": cost.output, "share": cost.share, "why": cost.why,
        "before": None if cost.before is None else asdict(cost.before),
        "after": None if cost.after is None else asdict(cost.after),
    }  # fmt: skip


__all__ = ["by_line", "causes", "json_of", "number", "text_of"]
