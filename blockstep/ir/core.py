"""Block IR: typed values in SSA form, operations, regions, functions.

Control flow is structured: a `for`, `while` or `if` operation holds regions, and a region is one list
of operations that ends in a terminator. Invariant: `value.uses` names exactly the operands that hold
the value; operations are changed through their methods, which keep that true. What an operation
*is* (type rule, meaning) is its `Op`, shared with the step machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blockstep.findings import Span
from blockstep.language.op import Op
from blockstep.language.types import dtype


@dataclass(frozen=True, slots=True)
class Location:
    """Where in the source an operation comes from, and the calls that led there, innermost first."""

    span: Span
    callers: tuple[Span, ...] = ()


class Value:
    """The result of an operation or an argument of a region."""

    __slots__ = ("type", "owner", "index", "name", "uses", "layout", "run")

    def __init__(self, type: dtype, owner: Operation | Region, index: int, name: str = "") -> None:
        self.type = type
        self.owner = owner
        self.index = index  # among the owner's results or arguments
        self.name = name  # the source's name, for people
        self.uses: list[tuple[Operation, int]] = []
        self.layout: Any = None  # who holds which element: of blocks, once the IR is placed
        self.run = 1  # so many neighbouring registers of a lane are equal, from each multiple on

    def replace_with(self, other: Value) -> None:
        """Makes every use of this value a use of `other`."""
        for operation, index in list(self.uses):
            operation.set_operand(index, other)

    @property
    def producer(self) -> Operation | None:
        """The operation that computes it; None for an argument of a region."""
        return self.owner if isinstance(self.owner, Operation) else None

    def __repr__(self) -> str:
        return f"<value {self.name or '?'}: {self.type}>"


class Operation:
    """One operation: operands, attributes, results, and regions for structured control flow."""

    __slots__ = ("op", "operands", "attributes", "results", "regions", "location", "parent")

    def __init__(
        self,
        op: Op,
        operands: Sequence[Value],
        types: Sequence[dtype],
        attributes: Mapping[str, Any] | None = None,
        regions: Sequence[Region] = (),
        location: Location | None = None,
    ) -> None:
        self.op = op
        self.operands: list[Value] = []
        self.attributes: dict[str, Any] = dict(attributes or {})
        self.results = [Value(t, self, i) for i, t in enumerate(types)]
        self.regions = list(regions)
        self.location = location
        self.parent: Region | None = None
        for region in self.regions:
            region.parent = self
        for operand in operands:
            self.add_operand(operand)

    @property
    def name(self) -> str:
        """The name of the operation's definition."""
        return self.op.name

    def add_operand(self, value: Value) -> None:
        """Appends an operand."""
        value.uses.append((self, len(self.operands)))
        self.operands.append(value)

    def set_operand(self, index: int, value: Value) -> None:
        """Replaces one operand."""
        self.operands[index].uses.remove((self, index))
        self.operands[index] = value
        value.uses.append((self, index))

    def drop_operands(self) -> None:
        """Uses nothing any more."""
        for index, value in enumerate(self.operands):
            value.uses.remove((self, index))
        self.operands.clear()

    def drop_operand(self, index: int) -> None:
        """Removes one operand; those after it move up."""
        rest = self.operands[index + 1 :]
        for place in range(index, len(self.operands)):
            self.operands[place].uses.remove((self, place))
        del self.operands[index:]
        for value in rest:
            self.add_operand(value)

    def drop_result(self, index: int) -> None:
        """Removes a result, which must be unused."""
        if self.results.pop(index).uses:
            raise ValueError(f"{self.name} loses a result that is used")
        for place, result in enumerate(self.results):
            result.index = place

    def erase(self) -> None:
        """Removes the operation, whose results must be unused, and everything inside it."""
        for result in self.results:
            if result.uses:
                raise ValueError(f"{self.name} is erased while its result is used")
        for inner in list(self.walk()):
            inner.drop_operands()
        if self.parent is not None:
            self.parent.operations.remove(self)
            self.parent = None

    def replace_with(self, values: Sequence[Value]) -> None:
        """Uses of the results become uses of `values`; the operation is erased."""
        for result, value in zip(self.results, values, strict=True):
            result.replace_with(value)
        self.erase()

    def walk(self) -> Iterator[Operation]:
        """This operation and all inside it, in program order."""
        yield self
        for region in self.regions:
            yield from region.walk()

    def move_before(self, other: Operation) -> None:
        """Moves the operation in front of another one, in that one's region."""
        if self.parent is not None:
            self.parent.operations.remove(self)
        self.insert_before(other)

    def insert_before(self, other: Operation) -> None:
        """Puts a new operation in front of another one, in that one's region."""
        assert other.parent is not None
        place = other.parent.operations.index(other)
        other.parent.operations.insert(place, self)
        self.parent = other.parent


class Region:
    """Arguments and a list of operations, the last of which is a terminator."""

    __slots__ = ("arguments", "operations", "parent")

    def __init__(self, types: Sequence[dtype] = (), names: Sequence[str] = ()) -> None:
        self.arguments: list[Value] = []
        self.operations: list[Operation] = []
        self.parent: Operation | Function | None = None
        for index, kind in enumerate(types):
            self.add_argument(kind, names[index] if index < len(names) else "")

    def add_argument(self, type: dtype, name: str = "") -> Value:
        """Appends an argument."""
        value = Value(type, self, len(self.arguments), name)
        self.arguments.append(value)
        return value

    def drop_argument(self, index: int) -> None:
        """Removes an argument, which must be unused."""
        if self.arguments.pop(index).uses:
            raise ValueError("a region loses an argument that is used")
        for place, argument in enumerate(self.arguments):
            argument.index = place

    def append(self, operation: Operation) -> Operation:
        """Appends an operation."""
        operation.parent = self
        self.operations.append(operation)
        return operation

    def walk(self) -> Iterator[Operation]:
        """All operations, also those inside others, in program order."""
        for operation in list(self.operations):
            yield from operation.walk()

    @property
    def terminator(self) -> Operation:
        """The last operation."""
        return self.operations[-1]


class Function:
    """A kernel (or a function that is kept as a call): parameters, body, result types.

    `constants` are the compile-time values it was specialised for."""

    __slots__ = ("name", "body", "results", "constants", "file", "callees", "derived")

    def __init__(
        self,
        name: str,
        types: Sequence[dtype],
        names: Sequence[str],
        results: Sequence[dtype] = (),
        constants: Mapping[str, Any] | None = None,
        file: str = "",
    ) -> None:
        self.name = name
        self.body = Region(types, names)
        self.body.parent = self
        self.results = tuple(results)
        self.constants = dict(constants or {})
        self.file = file
        self.callees: list[Function] = []
        self.derived: dict[str, Any] = {}  # what others worked out about it, by their name

    @property
    def parameters(self) -> list[Value]:
        """The arguments of the body."""
        return self.body.arguments

    def walk(self) -> Iterator[Operation]:
        """All operations in program order."""
        return self.body.walk()

    def clone(self) -> Function:
        """The same function once more, for who wants to rewrite it (functions it calls as well)."""
        copies = {callee: callee.clone() for callee in self.callees}
        made = Function(self.name, [], [], self.results, self.constants, self.file)
        made.callees = list(copies.values())
        values: dict[Value, Value] = {}
        _copy_region(self.body, made.body, values, copies)
        return made

    def __str__(self) -> str:
        from blockstep.ir.text import dump

        return dump(self)


def _copy_region(
    source: Region, target: Region, values: dict[Value, Value], functions: dict[Function, Function]
) -> None:
    for argument in source.arguments:
        made = values[argument] = target.add_argument(argument.type, argument.name)
        made.layout, made.run = argument.layout, argument.run
    for operation in source.operations:
        target.append(copy_operation(operation, values, functions))


def copy_operation(
    operation: Operation, values: dict[Value, Value], functions: dict[Function, Function]
) -> Operation:
    """A copy that uses `values` for the operands, and is told of there; inner regions too."""
    attributes = {
        name: functions.get(value, value) if isinstance(value, Function) else value
        for name, value in operation.attributes.items()
    }
    operands = [values[v] for v in operation.operands]
    types = [r.type for r in operation.results]
    regions = [Region() for _ in operation.regions]
    made = Operation(operation.op, operands, types, attributes, regions, operation.location)
    for old, new in zip(operation.results, made.results, strict=True):
        new.name, new.layout, new.run = old.name, old.layout, old.run
        values[old] = new
    for inner, region in zip(operation.regions, regions, strict=True):
        _copy_region(inner, region, values, functions)
    return made
