"""Products of a warpgroup run beside what follows them: each is left in flight until its sums are
needed."""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.compiler.layouts.shared import SharedLayout
from blockstep.compiler.passes.fuel import left, spend
from blockstep.ir import DOT_WAIT, Function, Operation, flight


@dataclass(frozen=True)
class Flight:
    """Marks each product that reads shared memory `in_flight`, and waits for it before the first
    use of the sums in its region, or at the region's end."""

    name: str = "flight"

    def apply(self, function: Function) -> None:
        """Placed IR in and out."""
        for operation in list(function.walk()):
            if operation.name == "dot" and isinstance(operation.operands[1].layout, SharedLayout):
                if _plain_sums(operation) and left():
                    _leave(operation)
                    spend(operation)


def _plain_sums(operation: Operation) -> bool:
    """Whether the sums are the result as it is, not yet to be converted or added up."""
    same = operation.results[0].type.scalar is flight.sums(operation)
    return same and not flight.partial(operation)


def _leave(operation: Operation) -> None:
    region = operation.parent
    assert region is not None
    (result,) = operation.results
    start = region.operations.index(operation)
    for later in region.operations[start + 1 :]:
        uses = result in [v for inner in later.walk() for v in inner.operands]
        if uses or later.name == "dot" or later is region.terminator:
            made = Operation(
                DOT_WAIT, [result], [result.type], {"pending": 0}, location=operation.location
            )
            made.insert_before(later)
            made.results[0].layout, made.results[0].name = result.layout, result.name
            for use, index in list(result.uses):
                if use is not made:
                    use.set_operand(index, made.results[0])
            operation.attributes["in_flight"] = True
            return
