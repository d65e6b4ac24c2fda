"""Wording of values that cannot be trusted (undefined, wrapped, cut), of hints and asserts."""

from __future__ import annotations

import ast

from blockstep.diagnostics import precision, source
from blockstep.diagnostics.words import (
    Words,
    argument_fact,
    index_text,
    kept,
    lanes_are,
    lanes_text,
    listed,
    op_text,
    quoted,
    who,
)
from blockstep.findings import (
    AssertFailed,
    CastLoses,
    DividedByZero,
    FalseHint,
    Lanes,
    Mark,
    Party,
    ShiftTooFar,
    Span,
    UndefinedReached,
)

_ROLE = {
    "branch": "decides this branch",
    "address": "is used as an offset",
    "mask": "is used as a mask",
    "loop-bound": "bounds this loop",
    "assert": "is asserted",
    "dot": "goes into this dot",
    "print": "is printed",
}
_MADE = {
    "masked-load": "an undefined value",
    "unwritten": "a value that nothing has written",
    "division": "a quotient by zero",
    "shift": "the result of a shift past the width",
    "wrap": "a wrapped integer",
    "cast": "what is left by a conversion",
}
_ORIGIN = {
    "masked-load": "masked off here, with no `other`",
    "unwritten": "loaded here from memory that nothing has written",
    "division": "divided by zero here",
    "shift": "shifted too far here",
    "wrap": "it wraps around here",
    "cast": "converted here",
}


def undefined_reached(event: UndefinedReached) -> Words:
    """A marked value at a place where it matters."""
    mark = event.mark
    if mark.cause == "nan":
        return precision.comparison_reached(event, _ROLE[event.sink])
    outside = f"outside {mark.type_text or 'the type'}"
    state = {"wrap": "wrapped", "cast": outside}.get(mark.cause, "undefined")
    label = outside if mark.cause == "cast" else f"{state} here"
    origin = () if mark.span == event.span else (_origin(mark),)
    return Words(
        message=f"{_made(mark)} {_role(event)}",
        label=lanes_are(event.lanes, state, label),
        facts=kept(who(event), _mark_fact(mark), argument_fact(event.argument)),
        help=kept(_mark_help(mark)),
        related=origin,
        argument=event.argument,
        elements=event.elements,
        count=event.lanes.count,
        details={"cause": mark.cause, "sink": event.sink},
    )


def _made(mark: Mark) -> str:
    if mark.cause == "cast" and mark.operands and mark.result:
        return f"{mark.operands[0]} does not fit {mark.type_text}, and {mark.result}"
    return _MADE[mark.cause]


def _role(event: UndefinedReached) -> str:
    if event.sink == "store":
        return f"is stored to {quoted(event.argument)}"
    if event.sink == "atomic":
        return f"goes into {quoted(event.argument)} through {op_text(event.op or 'atomic')}"
    return _ROLE[event.sink]


def _origin(mark: Mark) -> Party:
    return Party(_ORIGIN[mark.cause], mark.span, mark.program, mark.argument)


def _mark_fact(mark: Mark) -> str:
    if mark.cause == "masked-load":
        return (
            "where the mask of a load is false and `other` is not given, the value is not defined"
        )
    if mark.cause == "unwritten":
        memory = f"`{mark.argument}`" if mark.argument else "the memory"
        return f"{memory} held whatever lay there before"
    if mark.cause == "division":
        return f"{_formula(mark) or 'an integer division by zero'}: the result is not defined"
    if mark.cause == "shift":
        return f"{_formula(mark) or 'the shift'} leaves the bits of {mark.type_text}: not defined"
    if mark.cause == "cast":
        return _cast_fact(mark)
    return _wrap_fact(mark)


def _cast_fact(mark: Mark) -> str:
    if mark.op == "narrow":
        return f"only the low bits of an integer are left in {mark.type_text}"
    if mark.operands and mark.operands[0] == "nan":
        return "NaN is no integer: what a conversion makes of it is not defined"
    return f"what a conversion makes of a float outside {mark.type_text} is not defined"


def _formula(mark: Mark) -> str:
    if len(mark.operands) == 2:
        return f"{mark.operands[0]} {mark.op} {mark.operands[1]}"
    return f"{mark.op} {mark.operands[0]}".strip() if mark.operands else ""


def _wrap_fact(mark: Mark) -> str:
    formula = _formula(mark)
    exact = f"{formula} = {mark.exact}" if formula and mark.exact else formula
    if not formula and mark.exact:
        exact = f"the {mark.op or 'result'} {mark.exact}"
    became = f" and became {mark.result}" if mark.result else ""
    return f"{exact or 'the exact result'} does not fit {mark.type_text or 'its type'}{became}"


def _mark_help(mark: Mark) -> str:
    if mark.cause == "masked-load":
        return source.with_keyword(mark.span, _fill(mark)) or "give the load `other=`"
    if mark.cause == "unwritten":
        return "store before loading, or allocate with zeros"
    if mark.cause == "division":
        return division_help(mark.span)
    if mark.cause == "shift":
        return "keep the shift below the width, or shift a wider type"
    if mark.cause == "cast":
        nan = bool(mark.operands) and mark.operands[0] == "nan"
        return (
            "replace NaN before converting: tl.where(x == x, x, 0.0)"
            if nan
            else "clamp before converting, or convert to a wider type"
        )
    return widened(mark.span)


def _fill(mark: Mark) -> str:
    node = source.call(mark.span)
    if node and any(keyword.arg == "boundary_check" for keyword in node.keywords):
        return 'padding_option="zero"'
    return "other=0" if "int" in mark.type_text else "other=0.0"


def widened(span: Span) -> str:
    """`row.to(tl.int64) * stride`, from `row * stride`."""
    node = source.expression(span)
    if not isinstance(node, ast.BinOp):
        return "convert to int64 before the operation: .to(tl.int64)"
    left, right = node.left, node.right
    if isinstance(left, ast.Constant):
        left, right = right, left if isinstance(node.op, ast.Add | ast.Mult) else right
    if left is node.right and not isinstance(node.op, ast.Add | ast.Mult):
        return "convert to int64 before the operation: .to(tl.int64)"
    sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.LShift: "<<"}.get(type(node.op))
    if sign is None:
        return "convert to int64 before the operation: .to(tl.int64)"
    return f"{source.grouped(left)}.to(tl.int64) {sign} {source.grouped(right)}"


def divided_by_zero(event: DividedByZero) -> Words:
    """// or % by zero."""
    noun = "remainder" if event.op == "%" else "division"
    return Words(
        message=f"an integer {noun} by zero",
        label=lanes_are(event.lanes, "divided by 0", "the divisor is 0"),
        facts=kept(who(event), "a GPU does not stop at it, and what it gives is not defined"),
        help=(division_help(event.span),),
        count=event.lanes.count,
        details={"op": event.op},
    )


def division_help(span: Span) -> str:
    """a // tl.where(b == 0, 1, b)."""
    node = source.expression(span)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv | ast.Mod | ast.Div):
        return "replace a zero divisor first: tl.where(b == 0, 1, b)"
    sign = {ast.FloorDiv: "//", ast.Mod: "%", ast.Div: "/"}[type(node.op)]
    divisor = ast.unparse(node.right)
    if len(divisor) > 24:
        return "replace a zero divisor first: tl.where(b == 0, 1, b)"
    guarded = f"tl.where({source.grouped(node.right)} == 0, 1, {divisor})"
    return f"{source.grouped(node.left)} {sign} {guarded}"


def shift_too_far(event: ShiftTooFar) -> Words:
    """A shift by the width or more."""
    return Words(
        message=f"a shift by {event.amount} is past the {event.width} bits of {event.type_text}",
        label=lanes_are(event.lanes, "shifted too far", f"{event.op} {event.amount}"),
        facts=kept(
            who(event), f"only shifts of 0..{event.width - 1} are defined for {event.type_text}"
        ),
        help=("keep the shift below the width, or shift a wider type",),
        count=event.lanes.count,
        details={"amount": event.amount, "width": event.width},
    )


def cast_loses(event: CastLoses) -> Words:
    """A value that the integer type cannot hold."""
    return Words(
        message=f"{event.value} does not fit {event.target}, and becomes {event.result}",
        label=lanes_are(
            event.lanes, f"outside {event.target}", f"{event.source} to {event.target}"
        ),
        facts=kept(who(event), f"the conversion is from {event.source} to {event.target}"),
        help=("clamp before converting, or convert to a wider type",),
        count=event.lanes.count,
        details={"source": event.source, "target": event.target},
    )


def assert_failed(event: AssertFailed) -> Words:
    """A device_assert."""
    node = source.call(event.span)
    shown = event.condition or (ast.unparse(node.args[0]) if node and node.args else "")
    values = listed([f"{name} = {value}" for name, value in event.values.items()])
    message = f"device_assert failed: {event.message}" if event.message else "device_assert failed"
    return Words(
        message=message,
        label=f"`{shown}` is false{_at(event.lanes)}" if shown else f"false{_at(event.lanes)}",
        facts=kept(who(event), f"at {_first(event)}{values}" if values else ""),
        count=event.lanes.count,
        details={"assertion": event.message},
    )


def _at(lanes: Lanes) -> str:
    text = lanes_text(lanes)
    return f" for {text}" if text else ""


def _first(event: AssertFailed) -> str:
    return f"element {index_text(event.lanes.first)}: " if event.lanes.shape else "this point: "


_PROMISE = {
    "multiple_of": "the values are multiples of {}",
    "divisibility": "the value is a multiple of {}",
    "max_contiguous": "the values come in runs of {} that rise by one",
    "max_constancy": "the values come in runs of {} equal ones",
    "assume": "the condition is true",
}


def false_hint(event: FalseHint) -> Words:
    """A promise that does not hold."""
    claimed = " x ".join(map(str, event.claimed))
    axis = f" along axis {event.axis}" if event.axis is not None else ""
    promise = _PROMISE.get(event.hint, "{}").format(claimed) + axis
    seen = f"the values here: {listed(event.seen)}" if event.seen else "false here"
    where = lanes_text(event.lanes) if event.lanes else ""
    return Words(
        message=f"`{event.hint}` promises that {promise}, and that is false",
        label=f"{where}: {listed(event.seen)}" if where and event.seen else seen,
        facts=kept(
            who(event), "the compiler may build wider loads and drop checks on the strength of it"
        ),
        help=("remove the hint, or promise what holds",),
        count=event.lanes.count if event.lanes else 0,
        details={"hint": event.hint, "claimed": list(event.claimed)},
    )
