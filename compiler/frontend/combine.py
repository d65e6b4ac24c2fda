"""A scalar function that branches, as a straight line.

`tl.reduce`, `tl.associative_scan` and `tl.map_elementwise` take functions of scalars. One that has
an `if` on its values cannot be recorded by running it; it is compiled like any function, and then
each `if` whose branches are pure becomes selections. Invariant: the line computes, for every
element, what the function returns for it.
"""

from __future__ import annotations

from typing import Any

from blockstep.compiler.passes import DCE, Simplify
from blockstep.ir import IF, YIELD, Function, Value
from blockstep.ir import Operation as Structured
from blockstep.ir import Region as Body
from blockstep.language.op import Family, Op
from blockstep.language.ops.elementwise import SELECT
from blockstep.language.region import Operation, Region
from blockstep.language.types import dtype

_PURE = (Family.ELEMENTWISE, Family.SELECT, Family.SOURCE)


class NotStraight(Exception):
    """The function has loops or effects: no straight line computes it."""


class _Line:
    def __init__(self, function: Function) -> None:
        self.steps: list[Operation] = []
        self.numbers: dict[Value, int] = {}
        for parameter in function.parameters:
            self.numbers[parameter] = len(self.numbers)
        self.count = len(self.numbers)

    def append(
        self, op: Op, operands: list[int], attributes: dict[str, Any], types: list[dtype]
    ) -> list[int]:
        self.steps.append(Operation(op, tuple(operands), attributes, tuple(types)))
        self.count += len(types)
        return list(range(self.count - len(types), self.count))

    def body(self, region: Body) -> list[int]:
        """The numbers of what the region's terminator yields."""
        for operation in region.operations[:-1]:
            if operation.op is IF:
                numbers = self.choice(operation)
            elif operation.op.family in _PURE and operation.op.meaning is not None:
                types = [r.type for r in operation.results]
                numbers = self.append(
                    operation.op, self.operands(operation), operation.attributes, types
                )
            else:
                raise NotStraight(operation.name)
            self.numbers.update(zip(operation.results, numbers, strict=True))
        return self.operands(region.terminator)

    def operands(self, operation: Structured) -> list[int]:
        return [self.numbers[v] for v in operation.operands]

    def choice(self, operation: Structured) -> list[int]:
        (condition,) = self.operands(operation)
        then, other = (self.body(region) for region in operation.regions)
        found = []
        for result, x, y in zip(operation.results, then, other, strict=True):
            found += self.append(SELECT, [condition, x, y], {}, [result.type]) if x != y else [x]
        return found


def straight(function: Function, bundled: bool) -> Region:
    """The function, whose last operation yields its results, as a region of the language.

    Raises NotStraight."""
    assert function.body.terminator.op is YIELD
    Simplify().apply(function)
    DCE().apply(function)
    line = _Line(function)
    outputs = line.body(function.body)
    types = tuple(p.type for p in function.parameters)
    return Region(types, tuple(line.steps), tuple(outputs), bundled)
