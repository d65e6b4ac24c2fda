"""Functions that were kept as calls become part of their callers: what is placed and lowered calls
nothing."""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.ir import CALL, Function, Location, Operation, Value
from blockstep.ir.core import copy_operation


@dataclass(frozen=True)
class Inline:
    """Replaces every call by the body of the function, the call's place added to each location."""

    name: str = "inline"

    def apply(self, function: Function) -> None:
        """Inlines callees of callees first."""
        for callee in function.callees:
            self.apply(callee)
        for operation in list(function.walk()):
            if operation.op is CALL:
                _inline(operation)
        function.callees.clear()


def _inline(call: Operation) -> None:
    callee: Function = call.attributes["callee"]
    values: dict[Value, Value] = dict(zip(callee.parameters, call.operands, strict=True))
    for operation in callee.body.operations[:-1]:
        copy = copy_operation(operation, values, {})
        for inner in copy.walk():
            inner.location = _nested(inner.location, call.location)
        copy.insert_before(call)
    call.replace_with([values[v] for v in callee.body.terminator.operands])


def _nested(inner: Location | None, outer: Location | None) -> Location | None:
    if inner is None or outer is None:
        return inner or outer
    return Location(inner.span, (*inner.callers, outer.span, *outer.callers))
