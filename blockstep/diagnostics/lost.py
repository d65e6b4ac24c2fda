"""Wording of outputs that are further from float64 than was allowed."""

from __future__ import annotations

from blockstep.diagnostics.words import (
    Words,
    argument_fact,
    element_text,
    index_text,
    kept,
    plural,
    quoted,
    who,
)
from blockstep.findings import PrecisionLost

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "fdiv": "/", "div_rn": "/"}


def precision_lost(event: PrecisionLost) -> Words:
    """An output past a bound, at the operation where the error passes it."""
    return Words(
        message=f"{_far(event)}; the bound is {event.bound}",
        label=_label(event),
        facts=kept(
            who(event, _own(event)),
            _reason(event),
            argument_fact(
                event.argument,
                f"{plural(event.count, 'element')} of {event.total} "
                f"{'passes' if event.count == 1 else 'pass'} the bound",
            ),
            _output(event),
        ),
        help=kept(_help(event)),
        notes=("`blockstep precision` measures what each decision about types would give back",),
        argument=event.argument,
        elements=event.elements,
        count=event.count,
        details={
            "bound": event.bound, "how": event.how, "op": event.op, "type": event.type_text,
            "value": event.value, "shadow": event.shadow, "ulps": event.ulps,
            "introduced": event.introduced, "output_value": event.output_value,
            "output_shadow": event.output_shadow, "output_ulps": event.output_ulps,
        },
    )  # fmt: skip


def _far(event: PrecisionLost) -> str:
    name = quoted(event.argument)
    if event.output_value - event.output_value != 0:
        return f"{name} is {_number(event.output_value)} where float64 has a number"
    if event.bound.startswith("relative"):
        size = abs(event.output_shadow)
        off = abs(event.output_value - event.output_shadow) / size if size else float("inf")
        return f"{name} is off by {off:.2g} of its size"
    return f"{name} is off by {_ulps(event.output_ulps)} of {event.output_type}"


def _label(event: PrecisionLost) -> str:
    at = f" at element {index_text((event.element,))}" if event.element else ""
    value, shadow = _number(event.value), _number(event.shadow)
    if event.how == "nan":
        return f"NaN is born here: {_formula(event)}{at}"
    if event.how == "cancellation":
        return f"{_formula(event)} = {value}, and {shadow} in float64{at}"
    return f"{value}, and {shadow} in float64{at}"


def _formula(event: PrecisionLost) -> str:
    numbers = [_number(x) for x in event.operands]
    sign = _SIGNS.get(event.op)
    return f"{numbers[0]} {sign} {numbers[1]}" if sign and len(numbers) == 2 else event.op


def _own(event: PrecisionLost) -> str:
    if event.how in ("overflow", "nan", "underflow"):
        return ""
    return (
        f"{_ulps(event.ulps)} of {event.type_text} there, of which this operation makes"
        f" at most {event.introduced:.3g} each time"
    )


def _reason(event: PrecisionLost) -> str:
    if event.how == "inputs":
        return f"the product rounds its float32 operands to {event.rounded}, which has 10 bits"
    if event.how == "cancellation":
        return "nearly equal numbers cancel: what was rounded before stands in the first places"
    if event.how == "overflow":
        return f"what is made here is too large for {event.type_text}, or divided by a lost zero"
    if event.how == "underflow":
        return f"what is made here is too small for {event.type_text}"
    return ""


def _output(event: PrecisionLost) -> str:
    where = element_text(event.argument, event.output_element)
    value, shadow = _number(event.output_value), _number(event.output_shadow)
    return f"{where} is {value}, and {shadow} in float64"


def _help(event: PrecisionLost) -> str:
    if event.how == "inputs":
        return 'tl.dot(a, b, acc, input_precision="ieee") multiplies float32 as it is'
    if event.how == "cancellation":
        return "subtract before rounding, or use a form that does not subtract (expm1, log1p, …)"
    if event.type_text in ("fp16", "bf16") or event.type_text.startswith("fp8"):
        return "compute this in float32, and convert once, at the store"
    return ""


def _ulps(count: float) -> str:
    return f"{count:.3g} ulps"


def _number(x: float) -> str:
    return "NaN" if x != x else f"{x:.7g}"


__all__ = ["precision_lost"]
