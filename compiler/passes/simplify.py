"""Constants are folded, identities removed, and control flow that is decided already is undone.

A rule is a function of one operation that returns the values that replace its results, or None.
Float identities that change bits (`x + 0.0`, `x * 0.0`, `x - x`) are not among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from blockstep.compiler.passes.effects import is_plain
from blockstep.compiler.passes.fold import constant_of, folded, make_constant
from blockstep.compiler.passes.fuel import left, spend
from blockstep.ir import FOR, IF, Function, Operation, Region, Value

Rule = Callable[[Operation], list[Value] | None]


@dataclass(frozen=True)
class Simplify:
    """Applies the rules in program order until none of them does."""

    name: str = "simplify"

    def apply(self, function: Function) -> None:
        """Simplifies every operation."""
        while _region(function.body):
            pass


def _region(region: Region) -> bool:
    changed = False
    for operation in list(region.operations):
        if operation.parent is not region:
            continue
        for inner in operation.regions:
            changed |= _region(inner)
        changed |= _simplified(operation)
    return changed


def _simplified(operation: Operation) -> bool:
    if not left():
        return False
    number = folded(operation)
    if number is not None:
        kind = operation.results[0].type
        operation.replace_with([make_constant(number, kind, operation)])
        spend(operation)
        return True
    rule = RULES.get(operation.name)
    values = None if rule is None else rule(operation)
    if values is None:
        return False
    operation.replace_with(values)
    spend(operation)
    return True


def _neutral(number: int, both: bool = False) -> Rule:
    """`x op number` is `x`, for integers; with `both`, `number op x` too."""

    def rule(operation: Operation) -> list[Value] | None:
        left, right = operation.operands
        if operation.results[0].type.scalar.is_floating():
            return None
        if _is(right, number):
            return [left]
        return [right] if both and _is(left, number) else None

    return rule


def _is(value: Value, number: int) -> bool:
    found = constant_of(value)
    if found is None:
        return False
    return found is True if number == -1 and value.type.scalar.is_int1() else found == number


def _moved_by_zero(operation: Operation) -> list[Value] | None:
    """`addptr p, 0` is `p`."""
    pointer, offset = operation.operands
    return [pointer] if _is(offset, 0) else None


def _chosen(operation: Operation) -> list[Value] | None:
    """`select` with a constant condition, or with twice the same value."""
    condition, x, y = operation.operands
    if x is y and is_plain(condition):
        return [x]
    known = constant_of(condition)
    return None if known is None else [x if known else y]


def _same_type(operation: Operation) -> list[Value] | None:
    """A reshape or broadcast to the shape that is there."""
    (x,) = operation.operands
    return [x] if x.type is operation.results[0].type else None


def _widened(operation: Operation) -> list[Value] | None:
    """`broadcast(splat x)` is a larger `splat x`."""
    same = _same_type(operation)
    (x,) = operation.operands
    inner = x.producer
    if same is not None or inner is None or inner.name != "splat":
        return same
    kind = operation.results[0].type
    (scalar,) = inner.operands
    made = Operation(inner.op, [scalar], [kind], {"shape": kind.shape}, (), operation.location)
    made.insert_before(operation)
    return [made.results[0]]


def _decided(operation: Operation) -> list[Value] | None:
    """`if` with a constant condition: the chosen region takes its place."""
    known = constant_of(operation.operands[0])
    if known is None:
        return None
    region = operation.regions[0 if known else 1]
    for inner in region.operations[:-1]:
        inner.move_before(operation)
    return list(region.terminator.operands)


def _trips(operation: Operation) -> list[Value] | None:
    """A `for` that never runs, and what a loop carries around unchanged."""
    lower, upper, step = (constant_of(v) for v in operation.operands[:3])
    if lower is not None and upper is not None and step:
        if len(range(int(lower), int(upper), int(step))) == 0:
            return list(operation.operands[3:])
    _unchanged(operation)
    return None


def _unchanged(loop: Operation) -> None:
    (body,) = loop.regions
    for i, yielded in enumerate(body.terminator.operands):
        argument, before = body.arguments[i + 1], loop.operands[i + 3]
        if yielded is argument and left():
            used = len(argument.uses) > 1 or bool(loop.results[i].uses)
            argument.replace_with(before)
            body.terminator.set_operand(i, argument)
            loop.results[i].replace_with(before)
            if used:
                spend(loop)


RULES: dict[str, Rule] = {
    "add": _neutral(0, both=True),
    "sub": _neutral(0),
    "mul": _neutral(1, both=True),
    "idiv": _neutral(1),
    "and": _neutral(-1, both=True),
    "or": _neutral(0, both=True),
    "xor": _neutral(0, both=True),
    "shl": _neutral(0),
    "lshr": _neutral(0),
    "ashr": _neutral(0),
    "addptr": _moved_by_zero,
    "select": _chosen,
    "reshape": _same_type,
    "broadcast": _widened,
    IF.name: _decided,
    FOR.name: _trips,
}
