"""Removes what computes nothing that anybody uses: pure operations, empty `if`s and `for`s, and
values that a loop carries around for itself alone."""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.compiler.passes.effects import is_removable
from blockstep.compiler.passes.fuel import left, spend
from blockstep.ir import FOR, IF, Function, Operation, Region


@dataclass(frozen=True)
class DCE:
    """Dead code elimination. Loads, stores, atomics and everything else with an effect stay."""

    name: str = "dce"

    def apply(self, function: Function) -> None:
        """Sweeps from the end to the start until nothing goes."""
        while _sweep(function.body):
            pass


def _sweep(region: Region) -> bool:
    changed = False
    for operation in reversed(list(region.operations)):
        if operation is region.terminator:
            continue
        if not left():
            return False
        if not any(r.uses for r in operation.results) and is_removable(operation):
            operation.erase()
            spend(operation)
            changed = True
            continue
        for inner in operation.regions:
            changed |= _sweep(inner)
        if operation.op is FOR:
            changed |= _drop_carried(operation)
        elif operation.op is IF:
            changed |= _drop_results(operation)
    return changed


def _drop_carried(loop: Operation) -> bool:
    """Drops carried values that are used neither after the loop nor by what the body computes."""
    (body,) = loop.regions
    last = body.terminator
    dead = [
        i
        for i, result in enumerate(loop.results)
        if not result.uses and all(use == (last, i) for use in body.arguments[i + 1].uses)
    ]
    if not dead or not left():
        return False
    for i in reversed(dead):
        last.drop_operand(i)
        loop.drop_operand(i + 3)
        loop.drop_result(i)
        body.drop_argument(i + 1)
    spend(loop)
    return True


def _drop_results(choice: Operation) -> bool:
    dead = [i for i, result in enumerate(choice.results) if not result.uses]
    if not dead or not left():
        return False
    for i in reversed(dead):
        for region in choice.regions:
            region.terminator.drop_operand(i)
        choice.drop_result(i)
    spend(choice)
    return True
