"""Wording of NaN: where it was born, where it matters, what to do about it."""

from __future__ import annotations

import ast

from blockstep.diagnostics import source
from blockstep.diagnostics.words import (
    Words,
    argument_fact,
    element_text,
    index_text,
    kept,
    lanes_are,
    op_text,
    program_text,
    quoted,
    who,
)
from blockstep.findings import Birth, Event, NaNReached, Party, UndefinedReached

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "fdiv": "/", "div_rn": "/", "frem": "%"}
_ROOTS = frozenset({"sqrt", "sqrt_rn", "rsqrt"})
_LOGARITHMS = frozenset({"log", "log2", "log10", "log1p"})
_NAMES = {"sqrt_rn": "sqrt"}
_GREATEST = {"float16": "65504", "float8e5": "57344"}  # types that are often outgrown


def nan_reached(event: NaNReached) -> Words:
    """NaN in memory, or as a condition."""
    birth, name = event.birth, quoted(event.argument)
    title = {
        "store": f"{op_text(event.op)} writes NaN to {name}",
        "atomic": f"{op_text(event.op)} leaves NaN in {name}",
        "branch": "NaN decides this branch",
    }[event.sink]
    here = birth.span == event.span or not birth.span.file
    return Words(
        message=title,
        label=lanes_are(event.lanes, "NaN", "counts as true" if event.sink == "branch" else "NaN"),
        facts=kept(
            who(event),
            born(birth, event) if here else "",
            _reason(birth),
            argument_fact(event.argument, _where(event)),
        ),
        help=kept(_help(birth)),
        related=() if here else (_party(birth, event),),
        argument=event.argument,
        elements=event.elements,
        count=event.lanes.count,
        details={"sink": event.sink, "birth": birth.how, "op": birth.op},
    )


def comparison_reached(event: UndefinedReached, role: str) -> Words:
    """The answer of a comparison with NaN, where it decides something."""
    mark, birth = event.mark, event.mark.birth
    assert birth is not None
    formula = f"{mark.operands[0]} {mark.op} {mark.operands[1]}"
    compared = Party(f"{formula} is {mark.result}", mark.span, mark.program)
    places = [] if mark.span == event.span else [compared]
    if birth.span != event.span and birth.span.file:
        places.append(_party(birth, event))
    return Words(
        message=f"a comparison with NaN {role}",
        label=lanes_are(event.lanes, "decided by NaN", "decided by NaN"),
        facts=kept(
            who(event),
            f"{formula} is {mark.result}: with NaN every comparison but != is false",
            _reason(birth),
            argument_fact(event.argument),
        ),
        help=("say what NaN shall do: `x == x` is false for NaN alone", *kept(_help(birth))),
        related=tuple(places),
        argument=event.argument,
        count=event.lanes.count,
        details={"sink": event.sink, "birth": birth.how, "op": birth.op},
    )


def _where(event: NaNReached) -> str:
    """The first element, where the block's own numbering is not the argument's."""
    if not event.elements:
        return ""
    more = event.lanes.count - 1
    first = element_text(event.argument, event.elements[0])
    return f"{first} and {more} more are NaN now" if more else f"{first} is NaN now"


def _party(birth: Birth, event: Event) -> Party:
    source_of = (birth.source,) if birth.source else ()
    return Party(
        born(birth, event), birth.span, birth.program, birth.argument, source_of, len(source_of)
    )


def born(birth: Birth, event: Event) -> str:
    """The NaN was born here: inf - inf at element [3, 17]."""
    other = birth.program is not None and birth.program != event.program
    where = f", in {program_text(birth.program)}" if other else ""
    if birth.how == "loaded":
        what = element_text(birth.argument, birth.source) if birth.argument else "this memory"
        return f"`{what}` was NaN already{where}" if birth.argument else f"{what} was NaN already"
    if birth.how == "passed":
        return f"`{birth.argument}` was passed as NaN"
    if birth.how == "written":
        return f"NaN is written here{where}"
    way = " on the way to" if birth.how == "combined" else " at"
    at = f"{way} element {index_text((birth.element,))}" if birth.element else ""
    formula = _formula(birth)
    return f"the NaN was born here{': ' + formula if formula else ''}{at}{where}"


def _formula(birth: Birth) -> str:
    """inf - inf; log(-1); 0 * inf inside a product of matrices."""
    op, values = birth.op, birth.operands
    if birth.how == "bits":
        return f"{values[0]} read as {birth.type_text}" if values else ""
    if op == "add" and not values:
        return "partial sums overflow"
    if op == "fma" and len(values) == 3:
        return f"{values[0]} * {values[1]} + {values[2]}"
    if op == "cast" and values:
        return f"{birth.type_text} has no {values[0]}"
    if len(values) == 2 and op in _SIGNS:
        return f"{values[0]} {_SIGNS[op]} {values[1]}"
    return f"{_NAMES.get(op, op)}({', '.join(values)})" if values else ""


def _reason(birth: Birth) -> str:
    """Why this gives NaN."""
    if birth.how == "loaded":
        return "the kernel did not make it: look at what filled the argument"
    if birth.how in ("passed", "written", "bits"):
        return ""
    op = birth.op
    infinite = [v for v in birth.operands if "inf" in v]
    if op in _LOGARITHMS or op in _ROOTS:
        return f"{_NAMES.get(op, op)} of a number below zero is NaN"
    if op in ("add", "sub") and (infinite or not birth.operands):
        return f"infinities that cancel leave NaN{_overflow(birth)}"
    if op == "mul":
        return f"zero times infinity is NaN{_overflow(birth)}"
    if op in ("fdiv", "div_rn"):
        text = "infinity over infinity" if infinite else "zero over zero"
        return f"{text} is NaN{_overflow(birth) if infinite else ''}"
    return ""


def _overflow(birth: Birth) -> str:
    """Where infinities of a narrow type may come from."""
    greatest = _GREATEST.get(birth.type_text)
    if greatest is None or not any("inf" in v for v in birth.operands):
        return ""
    return f"; what is greater than {greatest} becomes inf in {birth.type_text}"


def _help(birth: Birth) -> str:
    op, values = birth.op, birth.operands
    if birth.how == "loaded":
        return "choose a number in its place where that is meant: tl.where(x == x, x, 0.0)"
    if birth.how == "passed":
        return f"look at what the caller made `{birth.argument}` of"
    if birth.how in ("written", "bits"):
        return ""
    if op == "sub" and values == ("-inf", "-inf"):
        return _masked_row(birth)
    if op in ("fdiv", "div_rn") and "inf" not in "".join(values):
        return _zero_divisor(birth)
    if op == "rsqrt":
        return _clamped_variance(birth)
    if op in _ROOTS:
        return _clamped(birth, "0.0")
    if op in _LOGARITHMS:
        return _clamped(birth, "1e-20")
    if op == "mul" and birth.how == "combined":
        return "load what lies past an edge with other=0.0 on both sides of the product"
    if op == "mul":
        return "choose with tl.where(mask, x, 0.0) instead of multiplying by 0"
    if birth.how == "combined" or any("inf" in v for v in values):
        return _smaller(birth)
    return ""


def _smaller(birth: Birth) -> str:
    if birth.type_text == "float16":
        return "compute this in float32, and convert at the store"
    return "keep it from becoming infinite: scale, subtract the maximum first, or clamp"


def _masked_row(birth: Birth) -> str:
    """x - tl.where(m == float("-inf"), 0.0, m), from `x - m`."""
    why = "a row that is masked everywhere has the maximum -inf: subtract 0 there"
    node = source.expression(birth.span)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return why
    right = ast.unparse(node.right)
    if len(right) > 24:
        return why
    infinite = f'{source.grouped(node.right)} == float("-inf")'
    return f"{why}:  {source.grouped(node.left)} - tl.where({infinite}, 0.0, {right})"


def _zero_divisor(birth: Birth) -> str:
    node = source.expression(birth.span)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        right = ast.unparse(node.right)
        if len(right) <= 24:
            guarded = f"tl.where({source.grouped(node.right)} == 0.0, 1.0, {right})"
            return f"guard the divisor:  {source.grouped(node.left)} / {guarded}"
    return "replace a zero divisor first: tl.where(d == 0.0, 1.0, d)"


def _clamped_variance(birth: Birth) -> str:
    """tl.rsqrt(tl.maximum(v, 0.0) + eps), from `tl.rsqrt(v + eps)`: 1 / sqrt(0) would be inf."""
    node = source.call(birth.span)
    inner = node.args[0] if node is not None and len(node.args) == 1 else None
    if node is None or not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Add):
        return _clamped(birth, "1e-12")
    left, right = ast.unparse(inner.left), ast.unparse(inner.right)
    if len(left) + len(right) > 40:
        return "clamp before it: tl.maximum(variance, 0.0) + eps"
    return f"clamp before it:  {ast.unparse(node.func)}(tl.maximum({left}, 0.0) + {right})"


def _clamped(birth: Birth, least: str) -> str:
    """tl.sqrt(tl.maximum(x, 0.0)), from `tl.sqrt(x)`."""
    node = source.call(birth.span)
    if node is None or len(node.args) != 1 or len(ast.unparse(node.args[0])) > 32:
        return f"clamp before it: tl.maximum(x, {least})"
    inner, function = ast.unparse(node.args[0]), ast.unparse(node.func)
    return f"clamp before it:  {function}(tl.maximum({inner}, {least}))"
