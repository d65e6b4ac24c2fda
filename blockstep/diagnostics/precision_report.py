"""Wording of what shadows tell: a report of one launch for a terminal of 80 columns, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from blockstep.diagnostics.source import line_text, shown_path
from blockstep.diagnostics.words import element_text, plural, triple
from blockstep.interp.shadows.records import Example, LineRecord

MOST_LINES = 12  # of source, the worst ones
MOST_COSTS = 6
WORTH = 0.1  # a decision that gives back less of the error is not worth a line
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "fdiv": "/", "div_rn": "/"}
_CALLS = {
    "dot": "tl.dot", "reduce": "the reduction", "scan": "the scan", "cast": "the cast",
    "exp": "tl.exp", "exp2": "tl.exp2", "log": "tl.log", "log2": "tl.log2",
}  # fmt: skip


def text_of(report: Any) -> str:
    """The whole report."""
    return "\n".join(_text(report))


def _text(report: Any) -> Iterator[str]:
    result = report.result
    yield f"{report.kernel}, grid {triple(report.grid)}"
    if result.measured < result.programs:
        yield (
            f"  {result.measured} of {plural(result.programs, 'program instance')} measured, the first"
            " and the last; --all measures every one"
        )
    if result.machine == "step" and result.because:
        yield f"  on the step machine: {result.because}"
    if not result.lines:
        yield "  exact: nothing is rounded"
        return
    for made in result.outputs.values():
        where = element_text(made.name, made.index)
        yield (
            f"  {made.name}: {made.type}, off by {number(made.relative)} of its size (root mean square);"
            f" at most {_ulps(made.worst_ulps)}, at {where}"
        )
    yield ""
    yield from _lines(result.lines)
    yield from _costs(report)
    for verdict in report.verdicts:
        yield from _verdict(verdict)


def by_line(records: Any) -> list[tuple[tuple[str, int], list[LineRecord]]]:
    """File and line with what is known of it, the worst first."""
    found: dict[tuple[str, int], list[LineRecord]] = {}
    for record in records:
        found.setdefault((record.span.file, record.span.line), []).append(record)
    return sorted(found.items(), key=lambda pair: -_weight(pair[1]))


def _lines(records: Any) -> Iterator[str]:
    ranked = by_line(records)
    shown = sorted(ranked[:MOST_LINES], key=lambda pair: pair[0])
    file = ""
    for (name, line), here in shown:
        if name != file:
            file = name
            yield f"{shown_path(name)}    introduced, of the size of the values"
        most = max(r.introduced for r in here)
        yield f"{line:>5} | {number(most):>8} | {line_text(name, line).strip()[:58]}"
        for text in causes(here):
            yield f"      |          |   ^ {text}"
    if len(ranked) > MOST_LINES:
        yield f"      and {plural(len(ranked) - MOST_LINES, 'line')} that lose less"


def _weight(records: list[LineRecord]) -> float:
    special = sum(
        r.nan_born + r.overflowed + r.cancelled + r.underflowed + r.decided for r in records
    )
    return max(r.introduced for r in records) + (1e6 if special else 0.0)


def causes(records: list[LineRecord]) -> Iterator[str]:
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
            yield f"infinity is born: {_formula(r, r.inf)}{_times(r.inf_born)}"
        if r.cancelled and r.cancellation is not None:
            yield (
                f"cancellation: {_formula(r, r.cancellation)} loses {r.cancelled_bits:.0f} bits, and what"
                f" was rounded before stands in the first places{_times(r.cancelled)}"
            )
        if r.underflowed and r.underflow is not None:
            yield (
                f"{name} underflows to zero: {number(r.underflow.shadow)} is too small for {r.type}"
                f"{_times(r.underflowed)}"
            )
        if r.subnormal:
            yield f"{name} gives subnormal numbers, which have fewer bits{_times(r.subnormal)}"
        if r.rounded_inputs:
            yield f"{name} rounds its fp32 operands to {r.rounded_inputs}, 10 bits: the default"
        if r.decided and r.decision is not None:
            yield f"{name} would be decided otherwise without rounding{_times(r.decided)}"


def _name(record: LineRecord) -> str:
    return _CALLS.get(record.op, f"`{_SIGNS.get(record.op, record.op)}`")


def _formula(record: LineRecord, example: Example) -> str:
    numbers = [number(x) for x in example.operands]
    sign = _SIGNS.get(record.op)
    if sign and len(numbers) == 2:
        text = f"{numbers[0]} {sign} {numbers[1]}"
    else:
        text = f"{record.op}({', '.join(numbers)})"
    return f"{text} = {number(example.value)}"


def _times(count: int) -> str:
    return f" ({plural(count, 'element')})"


def _costs(report: Any) -> Iterator[str]:
    if report.not_tried:
        yield f"no decision was tried: {report.not_tried}"
        return
    worth = [c for c in report.costs if c.gain >= WORTH]
    if not worth:
        return
    yield ""
    yield "what would give it back, measured by running again with one decision widened:"
    for rank, cost in enumerate(worth[:MOST_COSTS], 1):
        decision = cost.decision
        place = f"{shown_path(decision.file)}:{decision.line}"
        yield (
            f"  {rank}. {_decision(decision)} at {place}: {cost.output}"
            f" {number(cost.before)} -> {number(cost.after)}"
        )
        yield f"     {_fix(decision)}"


def _decision(decision: Any) -> str:
    return {
        "inputs": f"operands rounded to {decision.type}",
        "sum": f"a sum kept in {decision.type}",
        "cast": f"rounding to {decision.type}",
        "arithmetic": f"arithmetic in {decision.type}",
    }[decision.what]


def _fix(decision: Any) -> str:
    wider = "tl.float64" if decision.type == "fp32" else "tl.float32"
    return {
        "inputs": 'tl.dot(…, input_precision="ieee"), or "tf32x3" at half the price',
        "sum": f"accumulate in {wider}: acc = tl.zeros(…, {wider}), and cast once, at the end",
        "cast": f"keep the value in {wider} here, and cast later",
        "arithmetic": f"compute in {wider}: x.to({wider}) before it",
    }[decision.what]


def _verdict(verdict: Any) -> Iterator[str]:
    yield ""
    name, count = verdict.output, verdict.differ
    if verdict.answer == "equal":
        yield f"{name} equals its reference"
        return
    where = element_text(name, verdict.index)
    told = f"{where} is {verdict.value:.7g}, the reference {verdict.reference:.7g}"
    exact = f"without rounding it would be {verdict.shadow:.7g}"
    head = f"{count} of {plural(verdict.elements, 'element')} of {name} differ from the reference"
    if verdict.answer == "drift":
        yield f"drift: {head}, all of them by rounding"
        yield f"  at most {told}; {exact}"
    elif verdict.answer == "undecided":
        yield f"undecided: {head}, {verdict.undecided} of them behind a decision within rounding"
        yield f"  {told}; {exact}"
    else:
        yield f"bug: {head}, {verdict.outside} of them by more than rounding can do"
        yield f"  {told}; {exact}"
        low, high = f"{verdict.low:.7g}", f"{verdict.high:.7g}"
        yield f"  a legal compilation gives {low} to {high}: the kernel computes something else"


def _ulps(count: float) -> str:
    return f"{count:.1f} ulps" if count < 1e4 else f"{count:.1e} ulps"


def number(x: float) -> str:
    """Three places, which is what an error is known to."""
    return f"{x:.3g}" if x == x else "NaN"


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
        "costs": [
            {"file": c.decision.file, "line": c.decision.line, "type": c.decision.type,
             "what": c.decision.what, "output": c.output, "before": c.before, "after": c.after}
            for c in report.costs
        ],
        "verdicts": [asdict(v) for v in report.verdicts],
    }  # fmt: skip


__all__ = ["by_line", "causes", "json_of", "number", "text_of"]
