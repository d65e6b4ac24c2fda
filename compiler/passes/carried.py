"""What loops and branches hand on unchanged is the value from before them.

A loop may carry a value around, or replace it by the same one again: a descriptor that is made anew in
some turns, say. Once equal values are one (`cse`), that can be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from blockstep.compiler.passes.fuel import left, spend
from blockstep.ir import FOR, IF, WHILE, Function, Operation, Region, Value
from blockstep.language.op import Op


@dataclass(frozen=True)
class Carried:
    """Lets the users of such results and arguments use the value itself. No operation goes."""

    name: str = "carried"

    def apply(self, function: Function) -> None:
        """In program order, what is inside of a structure before it."""
        _region(function.body)


def _region(region: Region) -> None:
    for operation in list(region.operations):
        for inner in operation.regions:
            _region(inner)
        if operation.op is IF:
            _branches(operation)
        elif operation.op in _LOOPS and _LOOPS[operation.op](operation):
            for inner in operation.regions:  # where branches may agree now
                _region(inner)


def _branches(operation: Operation) -> None:
    """Both ways give the same."""
    first, second = (region.terminator.operands for region in operation.regions)
    for result, one, other in zip(operation.results, first, second, strict=True):
        if one is other and result.uses and left():
            result.replace_with(one)
            spend(operation)


def _for(loop: Operation) -> bool:
    (body,) = loop.regions
    changed = False
    for number, argument in enumerate(body.arguments[1:]):
        before, result = loop.operands[3 + number], loop.results[number]
        used = result.uses or [use for use in argument.uses if use != (body.terminator, number)]
        stays = _stays(body.terminator.operands[number], {argument, before}, {})
        if used and stays and left():
            argument.replace_with(before)
            body.terminator.set_operand(number, argument)
            result.replace_with(before)
            spend(loop)
            changed = True
    return changed


def _while(loop: Operation) -> bool:
    changed = False
    test, body = loop.regions
    passed = test.terminator.operands[1:]
    known = dict(zip(body.arguments, passed, strict=True))
    for number, argument in enumerate(test.arguments):
        before = loop.operands[number]
        stays = _stays(body.terminator.operands[number], {argument, before}, known)
        if stays and argument.uses and left():
            argument.replace_with(before)
            body.terminator.set_operand(number, before)
            spend(loop)
            changed = True
    passed = test.terminator.operands[1:]
    for value, argument, result in zip(passed, body.arguments, loop.results, strict=True):
        if not _is_inside(value, loop) and (argument.uses or result.uses) and left():
            changed |= bool(argument.uses)
            argument.replace_with(value)
            result.replace_with(value)
            spend(loop)
    return changed


_LOOPS: dict[Op, Callable[[Operation], bool]] = {FOR: _for, WHILE: _while}


def _stays(value: Value, same: set[Value], passed: dict[Value, Value]) -> bool:
    """Whether a value is one of those that are the same, whichever way was taken."""
    if value in same:
        return True
    if value in passed:
        return _stays(passed[value], same, passed)
    made = value.producer
    if made is None or made.op is not IF:
        return False
    return all(
        _stays(region.terminator.operands[value.index], same, passed) for region in made.regions
    )


def _is_inside(value: Value, operation: Operation) -> bool:
    owner = value.owner
    region = owner if isinstance(owner, Region) else owner.parent
    while region is not None and isinstance(region.parent, Operation):
        if region.parent is operation:
            return True
        region = region.parent.parent
    return False


__all__ = ["Carried"]
