"""The verifier: what must hold of every function, before and after every pass.

It raises `Malformed`, which names the operation, its line in the source and what is wrong. What
must hold of layouts is in `verify_placed`.
"""

from __future__ import annotations

from collections.abc import Callable

from blockstep.ir.core import Function, Operation, Region, Value
from blockstep.ir.malformed import Malformed
from blockstep.ir.structure import TERMINATORS
from blockstep.ir.verify_placed import verify_placed
from blockstep.language import types as ty


def verify(function: Function) -> None:
    """Raises Malformed for the first rule that does not hold."""
    _region(function.body, set(), None)
    last = function.body.operations[-1] if function.body.operations else None
    if last is None or last.name != "return":
        raise Malformed(last, "a function ends in return")
    returned = tuple(v.type for v in last.operands)
    if returned != function.results:
        raise Malformed(last, f"returns {returned}, the function is declared {function.results}")
    verify_placed(function)


def _region(region: Region, visible: set[Value], owner: Operation | None) -> None:
    known = set(visible) | set(region.arguments)
    if not region.operations:
        raise Malformed(owner, "a region is empty: it needs a terminator")
    for position, operation in enumerate(region.operations):
        if operation.parent is not region:
            raise Malformed(operation, "does not know the region it stands in")
        _operands(operation, known)
        last = position == len(region.operations) - 1
        if (operation.name in TERMINATORS) is not last:
            raise Malformed(operation, "a terminator is the last operation of its region, only")
        for inner in operation.regions:
            _region(inner, known, operation)
        _types(operation)
        known |= set(operation.results)


def _operands(operation: Operation, known: set[Value]) -> None:
    for index, value in enumerate(operation.operands):
        if value not in known:
            raise Malformed(operation, f"operand {index} ({value!r}) is not computed before it")
        if (operation, index) not in value.uses:
            raise Malformed(operation, f"operand {index} does not know that it is used here")


def _types(operation: Operation) -> None:
    check = _STRUCTURE.get(operation.name)
    if check is not None:
        check(operation)
        return
    kinds = [value.type for value in operation.operands]
    found = operation.op.rule(*kinds, **_plain(operation))
    wanted = tuple(found) if isinstance(found, tuple) else (found,)
    if wanted == (ty.void,):
        wanted = ()
    got = tuple(result.type for result in operation.results)
    if wanted != got:
        raise Malformed(operation, f"results are {got}, its type rule says {wanted}")


def _plain(operation: Operation) -> dict[str, object]:
    """The attributes that the type rule is given: all but those that place optional operands."""
    return {k: v for k, v in operation.attributes.items() if k != "operand_slots"}


def _same(operation: Operation, what: str, got: list[Value], wanted: list[Value]) -> None:
    a, b = [v.type for v in got], [v.type for v in wanted]
    if a != b:
        raise Malformed(operation, f"{what} are {a}, and should be {b}")


def _for(operation: Operation) -> None:
    (body,) = operation.regions
    lower, upper, step, *carried = operation.operands
    index, *arguments = body.arguments
    for bound in (lower, upper, step):
        if bound.type is not index.type or not index.type.is_int():
            raise Malformed(operation, f"bounds and index differ: {bound.type}, {index.type}")
    _same(operation, "the body's arguments", arguments, carried)
    _same(operation, "the yielded values", body.terminator.operands, carried)
    _same(operation, "the results", operation.results, carried)


def _while(operation: Operation) -> None:
    test, body = operation.regions
    _same(operation, "the test's arguments", test.arguments, operation.operands)
    if test.terminator.name != "condition" or test.terminator.operands[0].type is not ty.int1:
        raise Malformed(operation, "the first region ends in a condition on an int1")
    passed = test.terminator.operands[1:]
    _same(operation, "the body's arguments", body.arguments, passed)
    _same(operation, "the yielded values", body.terminator.operands, operation.operands)
    _same(operation, "the results", operation.results, passed)


def _if(operation: Operation) -> None:
    if len(operation.operands) != 1 or operation.operands[0].type is not ty.int1:
        raise Malformed(operation, "takes one int1")
    if len(operation.regions) != 2:
        raise Malformed(operation, "has two regions")
    for region in operation.regions:
        _same(operation, "the yielded values", region.terminator.operands, operation.results)


def _call(operation: Operation) -> None:
    callee = operation.attributes.get("callee")
    if not isinstance(callee, Function):
        raise Malformed(operation, "names no function")
    _same(operation, "the arguments", operation.operands, callee.parameters)
    if tuple(r.type for r in operation.results) != callee.results:
        raise Malformed(operation, f"the results differ from those of {callee.name}")


def _anything(operation: Operation) -> None:
    if operation.results or operation.regions:
        raise Malformed(operation, "a terminator has no results and no regions")


_STRUCTURE: dict[str, Callable[[Operation], None]] = {
    "for": _for,
    "while": _while,
    "if": _if,
    "call": _call,
    "yield": _anything,
    "condition": _anything,
    "return": _anything,
}
