"""Loop-invariant code motion: what a loop computes anew each time from values outside of it is
computed once, before it."""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.compiler.passes.effects import is_pure
from blockstep.compiler.passes.fuel import left, spend
from blockstep.ir import FOR, WHILE, Function, Operation, Region, Value


@dataclass(frozen=True)
class LICM:
    """Moves pure operations out of `for` and `while`, inner loops first. Loads stay: a loop with no
    trips does not load."""

    name: str = "licm"

    def apply(self, function: Function) -> None:
        """Moves what can be moved."""
        _region(function.body)


def _region(region: Region) -> None:
    for operation in list(region.operations):
        for inner in operation.regions:
            _region(inner)
        if operation.op in (FOR, WHILE) and not operation.attributes.get("disable_licm"):
            for inner in operation.regions:
                _hoist(operation, inner)


def _hoist(loop: Operation, body: Region) -> None:
    inside: set[Value] = set(body.arguments)
    for operation in list(body.operations):
        fixed = is_pure(operation) and not any(v in inside for v in operation.operands)
        if fixed and left():
            operation.move_before(loop)
            spend(operation)
        else:
            inside.update(operation.results)
