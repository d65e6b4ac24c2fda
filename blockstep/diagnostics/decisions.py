"""Wording of what decisions about formats cost, and of verdicts against a reference."""

from __future__ import annotations

import ast
import copy
import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from blockstep.diagnostics import source
from blockstep.diagnostics.words import (
    Words,
    element_text,
    index_text,
    kept,
    lanes_are,
    plural,
    who,
)
from blockstep.findings import ReadsTf32, Span

if TYPE_CHECKING:
    from blockstep.runtime.whatif.decisions import Decision
    from blockstep.runtime.whatif.measuring import Cost, Error, Measured

WIDTH = 80
MOST = 8  # decisions that are listed
LEAST_SHARE = 0.01  # of the error: decisions that give back less are counted, not listed
FINE = 2.0**-20  # of the size of the values
LONGEST = 72  # characters of source in a fix
_PARTS = "more partial sums (a smaller block of K), or float64 factors"


def number(x: float) -> str:
    """A figure with three digits."""
    return "NaN" if math.isnan(x) else f"{x:.3g}"


def wrapped(text: str, indent: int = 2, more: int = 2) -> list[str]:
    """A paragraph in lines of a terminal."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + more),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def costs_text(measured: Measured, top: int = MOST) -> Iterator[str]:
    """What each decision costs, the dearest first."""
    if not measured.costs:
        return
    costs = [c for c in measured.costs if c.share >= LEAST_SHARE and not _is_fine(c)]
    if not costs and all(_is_fine(c) for c in measured.costs if c.before is not None):
        return
    yield from ("", "what would give it back: the launch run again, one decision taken otherwise")
    if not costs:
        yield "  no single decision accounts for a hundredth of the error"
    for place, cost in enumerate(costs[:top], 1):
        yield from _cost(place, cost)
    lost = [c for c in measured.costs if c.why]
    rest = len(measured.costs) - len(costs[:top]) - len(lost)
    if rest and costs:
        yield f"  {plural(rest, 'other decision')} would give back less"
    for cost in lost:
        yield from wrapped(f"not measured: {title(cost.decision)}: {cost.why}")
    if measured.left_out:
        yield f"  {plural(measured.left_out, 'decision')} not measured: there are too many"
    yield from _together(measured)


def _is_fine(cost: Cost) -> bool:
    """A few units in the last place of float32: nobody goes to float64 for that."""
    error = cost.before
    narrow = cost.decision.kind.primitive_bitwidth < 32 or cost.decision.what.name in (
        "TF32",
        "FAST",
    )
    return error is not None and not narrow and not error.lost and error.rms < FINE * error.size


def _together(measured: Measured) -> Iterator[str]:
    for name, after in measured.together.items():
        before = measured.errors[name]
        if before.weight > after.weight:
            yield from wrapped(f"all of it in float32 at least: `{name}` {_change(before, after)}")


def _cost(place: int, cost: Cost) -> Iterator[str]:
    decision, before, after = cost.decision, cost.before, cost.after
    assert before is not None and after is not None
    span = decision.span
    where = f"{source.place(span)}:{span.column}"
    yield from wrapped(f"{place}. {where}: {title(decision)}", 2, 3)
    share = f"{share_text(cost.share)} of the error of `{cost.output}`"
    yield from wrapped(f"gives back {share}: {_change(before, after)}", 5)
    help = fix(decision)
    if help:
        yield from wrapped(f"help: {help}", 5)


def _change(before: Error, after: Error) -> str:
    parts = []
    if before.lost or after.lost:
        parts.append(f"NaN or Inf in {before.lost} -> {plural(after.lost, 'element')}")
    if before.greatest or after.greatest:
        parts.append(
            f"max {number(before.greatest)} -> {number(after.greatest)}, "
            f"rms {number(before.rms)} -> {number(after.rms)}"
        )
    return ", ".join(parts)


def share_text(share: float) -> str:
    """A part of the whole: 97%, 99.9%, all."""
    if share >= 0.9995:
        return "all"
    return f"{share:.1%}" if share > 0.99 else f"{share:.0%}"


def title(decision: Decision) -> str:
    """What is decided, in words."""
    kind, name = str(decision.kind), _subject(decision)
    texts = {
        "TF32": f"the factors of this product are read as {decision.function}",
        "RUNNING": f"{name} is a sum kept in {kind} by a loop",
        "PRODUCT": f"the sum of this product of matrices is kept in {kind}",
        "REDUCTION": f"{_combined(decision)} {name} kept in {kind}",
        "CONVERSION": f"{name} is rounded to {kind}",
        "OUTPUT": f"`{decision.name}` holds {kind}",
        "ATOMIC": f"atomics add to `{decision.name}` in {kind}, rounding each time",
        "ARITHMETIC": f"this line computes in {kind}",
        "FAST": f"fast code: fused multiply-add, {decision.function or 'no functions'} approximate",
    }
    return texts[decision.what.name]


def _combined(decision: Decision) -> str:
    return "a sum over" if decision.function == "reduce" else "running sums of"


def _subject(decision: Decision) -> str:
    """The variable, or the text of the expression."""
    if decision.name:
        return f"`{decision.name}`"
    call = source.call(decision.span)
    if call is not None:
        inner: ast.expr | None = call.args[0] if call.args else None
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cast"):
            inner = call.func.value
        text = ast.unparse(inner) if inner is not None else ""
        if text and len(text) <= LONGEST // 2:
            return f"`{text}`"
    return "what is computed here"


def fix(decision: Decision) -> str:
    """What to write instead."""
    span, narrow = decision.span, decision.kind.primitive_bitwidth < 32
    wide = "float32" if narrow else "float64"
    if decision.what.name == "TF32":
        return f'{with_keyword(span, "input_precision", "ieee")} (or "tf32x3", faster)'
    if decision.what.name == "RUNNING":
        name = decision.name or "acc"
        return f"{name} = tl.zeros(..., tl.{wide}), added to without .to(...); convert at the store"
    if decision.what.name == "PRODUCT":
        return "leave out_dtype out: the sum is float32 then" if narrow else _PARTS
    if decision.what.name == "REDUCTION":
        return _first_argument(span, f".to(tl.{wide})")
    if decision.what.name == "CONVERSION":
        return _unconverted(span, wide)
    if decision.what.name in ("OUTPUT", "ATOMIC"):
        return f"make `{decision.name}` {wide} where the host allocates it{_stored(decision, wide)}"
    if decision.what.name == "FAST":
        return "kernel[grid](..., enable_fp_fusion=False) compiles in IEEE arithmetic"
    if narrow:
        return f"convert the operands to {wide} first: .to(tl.{wide})"
    return "another formula, or tl.float64 for this line"


def _stored(decision: Decision, wide: str) -> str:
    """What else is to be done to what is stored there."""
    made = decision.how.operations
    if any(o.name != "cast" for o in made):
        return f", and compute what is stored in {wide}"
    stores = {o.location.span for o in made if o.location is not None}
    return ", and store without .to(...)" if stores - {decision.span} else ""


def with_keyword(span: Span, name: str, text: str) -> str:
    """The call at a span with one more keyword, if it is short; else the keyword."""
    call = copy.deepcopy(source.call(span))  # trees are kept: others read them
    if call is None:
        return f'{name}="{text}"'
    call.keywords = [k for k in call.keywords if k.arg != name]
    call.keywords = [k for k in call.keywords if k.arg != "allow_tf32"]
    call.keywords.append(ast.keyword(name, ast.Constant(text)))
    found = ast.unparse(call).replace(f"'{text}'", f'"{text}"')
    return found if len(found) <= LONGEST else f'{name}="{text}"'


def _first_argument(span: Span, suffix: str) -> str:
    call = copy.deepcopy(source.call(span))
    if call is None or not call.args:
        return f"convert the elements first: {suffix}"
    call.args[0] = ast.parse(f"{source.grouped(call.args[0])}{suffix}", mode="eval").body
    found = ast.unparse(call)
    return found if len(found) <= LONGEST else f"convert the elements first: {suffix}"


def _unconverted(span: Span, wide: str) -> str:
    call = source.call(span)
    if call is not None and isinstance(call.func, ast.Attribute) and call.func.attr == "to":
        inner = ast.unparse(call.func.value)
        if len(inner) <= LONGEST // 2:
            return f"keep {wide}: {inner} without .to(...)"
    return f"keep it in {wide}, and convert once, at the store"


def reads_tf32(event: ReadsTf32) -> Words:
    """A product that reads float32 as tf32, which nobody asked for."""
    call, operand = source.call(event.span), f"operand {event.operand + 1}"
    if call is not None and len(call.args) > event.operand:
        text = ast.unparse(call.args[event.operand])
        operand = f"`{text}`" if len(text) <= LONGEST else operand
    first = f"element {index_text(event.lanes.first)} is {event.value}, read as {event.read_as}"
    return Words(
        message="this product reads float32 as tf32, with 10 of its 23 fraction bits",
        label="the default: nothing here asks for it",
        facts=kept(
            who(event), f"{operand}: {first}", lanes_are(event.lanes, "rounded", f"{operand} is"),
        ),
        help=(f'{with_keyword(event.span, "input_precision", "ieee")}  # or "tf32x3", faster',),
        notes=("a doubt, not a bug; `blockstep precision` measures what it costs",),
        details={"operand": event.operand},
    )  # fmt: skip


def verdict_text(verdict: Any) -> Iterator[str]:
    """The verdict on one output."""
    name, count = verdict.output, verdict.differ
    if verdict.answer == "equal":
        yield f"`{name}` equals its reference"
        return
    where = element_text(name, verdict.index)
    seen = f"{where} is {_value(verdict.value)}, the reference {_value(verdict.reference)}"
    range_ = f"{_value(verdict.low)} to {_value(verdict.high)}"
    head = f"{count} of {plural(verdict.elements, 'element')} of `{name}` differ from the reference"
    if verdict.answer == "drift":
        yield from wrapped(f"drift: {head}, all of them by rounding", 0)
        yield from wrapped(f"the furthest: {seen}; rounding explains {range_}")
    elif verdict.answer == "undecided":
        yield from wrapped(f"undecided: {head}, {verdict.undecided} of them: {verdict.why}", 0)
        yield from wrapped(f"the first: {seen}; without rounding {_value(verdict.shadow)}")
    else:
        yield from wrapped(
            f"bug: {head}, {verdict.outside} of them by more than rounding explains", 0
        )
        yield from wrapped(f"the first: {seen}; rounding explains {range_}")
        yield from wrapped(
            f"without rounding it is {_value(verdict.shadow)}: the kernel computes something else"
        )


def _value(x: float) -> str:
    """With enough digits to tell it from a neighbour."""
    return f"{x:.9g}" if math.isfinite(x) else number(x)


__all__ = [
    "costs_text",
    "fix",
    "number",
    "reads_tf32",
    "share_text",
    "title",
    "verdict_text",
    "with_keyword",
    "wrapped",
]
