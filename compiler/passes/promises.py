"""What is promised of a value holds of it from there on, whoever uses the promise's result."""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.compiler.passes.fuel import left, spend
from blockstep.ir import Function, Operation


@dataclass(frozen=True)
class Promises:
    """Lets what comes after `tl.multiple_of(x, n)` in its region use the result in the place of
    `x`: a promise whose result is dropped counts all the same."""

    name: str = "promises"

    def apply(self, function: Function) -> None:
        """Changes operands alone."""
        for operation in list(function.walk()):
            if operation.name == "hint" and len(operation.operands[0].uses) > 1 and left():
                _spread(operation)
                spend(operation)


def _spread(promise: Operation) -> None:
    (promised,), (result,) = promise.operands, promise.results
    region = promise.parent
    assert region is not None
    following = region.operations[region.operations.index(promise) + 1 :]
    later = {inner for operation in following for inner in operation.walk()}
    for user, index in list(promised.uses):
        if user in later:
            user.set_operand(index, result)


__all__ = ["Promises"]
