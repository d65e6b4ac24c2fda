"""The check `--precision error:4ulp`: a launch with float64 shadows before it runs as usual, and a
finding for each output that passes a bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from blockstep.errors import TritonError
from blockstep.findings import Argument, Event, PrecisionLost
from blockstep.findings.model import MOST_ELEMENTS
from blockstep.findings.precision_bounds import ErrorBound
from blockstep.interp.bounds.ranges import form, widened
from blockstep.interp.memory import View
from blockstep.interp.shadows.distance import ulps
from blockstep.interp.shadows.records import Example, LineRecord, OutputRecord, ShadowResult
from blockstep.language import types as ty
from blockstep.language.numerics import format_of
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.precision import measure


def check(launch: Launch, bounds: Sequence[ErrorBound], judge: Callable[[Event], None]) -> None:
    """Measures every program instance; memory is as before it at the end. A kernel that breaks a rule of
    the language ends in it again when the launch runs, which says so."""
    try:
        found = measure(launch, every=True, tries=False).result
    except TritonError:
        return
    views = {v.name: v for v in launch.arguments.values() if isinstance(v, View)}
    for output in found.outputs.values():
        for bound in bounds:
            event = _event(launch, found, output, views[output.name], bound)
            if event is not None:
                judge(event)
                break


def _event(
    launch: Launch, found: ShadowResult, output: OutputRecord, view: View, bound: ErrorBound
) -> Event | None:
    value = widened(output.values, view.dtype)
    error = _errors(value, output.shadow, view.dtype, bound)
    past = error > bound.limit
    count = int(np.count_nonzero(past))
    if not count:
        return None
    at = output.at
    worst = int(np.argmax(np.where(past, error, -1.0)))
    record, how = _cause(found, view.dtype, bound, float(value[worst]))
    if record is None:
        return None
    example = _example(record, how)

    def index(flat: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(int(at[flat]), output.shape))

    return PrecisionLost(
        span=record.span, callers=record.callers, kernel=launch.kernel, program=example.program,
        grid=launch.grid, host=launch.host, launch=launch.number, bound=bound.text, how=how,
        op=record.op, type_text=record.type, value=example.value, shadow=example.shadow,
        operands=example.operands, element=example.element,
        ulps=float(ulps(np.float64(example.value), np.float64(example.shadow), format_of(record.type))),
        introduced=record.introduced_ulps, rounded=record.rounded_inputs,
        argument=Argument.of(view),
        elements=tuple(index(int(i)) for i in np.flatnonzero(past)[:MOST_ELEMENTS]),
        count=count, total=output.elements, output_type=output.type,
        output_ulps=float(ulps(value[worst], output.shadow[worst], form(view.dtype))),
        output_value=float(value[worst]), output_shadow=float(output.shadow[worst]),
        output_element=index(worst),
    )  # fmt: skip


def _errors(value: Any, shadow: Any, kind: ty.dtype, bound: ErrorBound) -> Any:
    """In the bound's unit; infinite where the value is no number and the shadow is one."""
    lost = ~np.isfinite(value) & np.isfinite(shadow)
    if bound.quantity == "error":
        return np.where(lost, np.inf, ulps(value, shadow, form(kind)))
    if bound.quantity == "overflow":
        return np.where(np.isinf(value) & lost, np.inf, 0.0)
    with np.errstate(all="ignore"):
        off = np.abs(value - shadow)
        found = np.where(off == 0, 0.0, off / np.abs(shadow))
    return np.where(lost, np.inf, np.where(np.isfinite(found) | (off > 0), found, 0.0))


def _cause(
    found: ShadowResult, kind: ty.dtype, bound: ErrorBound, worst: float
) -> tuple[LineRecord | None, Any]:
    """The first operation whose results pass the bound (in units of the output's type), or that made the
    infinity, the NaN or the zero that the worst element is; else the one with the greatest error."""
    ordered = sorted(found.lines, key=lambda r: r.order)
    infinite, zero = not np.isfinite(worst), worst == 0
    for record in ordered:
        if infinite and (record.overflowed or record.inf_born):
            return record, "overflow"
        if infinite and record.nan_born:
            return record, "nan"
    limit = bound.limit
    if bound.quantity == "error":
        limit *= 2.0 ** -form(kind).fraction
    for record in ordered:
        if zero and (record.vanished or record.underflowed):
            return record, "underflow"
        if record.worst_ulps * 2.0 ** -format_of(record.type).fraction > limit:
            if record.rounded_inputs:
                return record, "inputs"
            return record, "cancellation" if record.cancelled else "rounding"
    if not ordered:
        return None, "rounding"
    return max(ordered, key=lambda r: r.worst_ulps * 2.0 ** -format_of(r.type).fraction), "rounding"


def _example(record: LineRecord, how: str) -> Example:
    chosen = {
        "overflow": record.overflow or record.inf, "nan": record.nan,
        "underflow": record.underflow or record.vanishing, "cancellation": record.cancellation,
    }.get(how) or record.worst  # fmt: skip
    assert chosen is not None
    return chosen


__all__ = ["check"]
