"""Gives every block value a layout, and inserts conversions where two wishes meet.

Invariant: afterwards every block value has a layout, and each operation finds its operands as its
lowering needs them. A value that can be made anywhere is made once for each layout that is needed,
beside the original; any other is converted right after it was computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from blockstep.compiler import layouts
from blockstep.compiler.analysis import Hint, analyse
from blockstep.compiler.layouts.shared import SharedLayout
from blockstep.compiler.placement import memory, rules, wishes
from blockstep.compiler.placement.homes import ACCESSES, Homes
from blockstep.ir import CONVERT, Function, Layout, Operation, Region, Value


@dataclass(frozen=True)
class Place:
    """Layouts for a CTA of `num_warps` warps. `hints` tell what is known of the parameters."""

    num_warps: int = 4
    capability: int = 90
    num_ctas: int = 1
    hints: Mapping[str, Hint] | None = None
    name: str = "place"

    def apply(self, function: Function) -> None:
        """Places a function that calls no other."""
        facts = analyse(function, self.hints or {}, trust_dividends=True)
        homes = Homes(function, facts, self.num_warps, self.capability)
        _Placing(homes, facts).function(function)
        if self.num_ctas > 1:
            _copy_in_each_cta(function, self.num_ctas)


class _Placing:
    def __init__(self, homes: Homes, facts: Mapping[Value, Any]) -> None:
        self.homes, self.facts = homes, facts
        self.made: dict[tuple[Value, Any], Value] = {}
        self.templates: list[Operation] = []

    def function(self, function: Function) -> None:
        self.region(function.body)
        for operation in reversed(self.templates):
            if not any(result.uses for result in operation.results):
                operation.erase()
        for operation in function.walk():
            if rules.is_elementwise(operation):
                for result in operation.results:
                    result.run = self.run_of(result)

    def run_of(self, value: Value) -> int:
        """Neighbouring registers that hold the same number: of integers and masks."""
        layout, facts = value.layout, self.facts.get(value)
        if facts is None or not isinstance(layout, Layout):
            return 1
        best = 1
        for axis in range(len(layout.shape)):
            axes = (axis, *(a for a in reversed(range(len(layout.shape))) if a != axis))
            best = max(best, min(facts.constancy[axis], layouts.contiguous(layout, axes)))
        return best

    def region(self, region: Region) -> None:
        for operation in list(region.operations[:-1]):
            self.one(operation)  # the terminator gets what the owner of the region asks for

    # ---- operations that stay where they are

    def one(self, operation: Operation) -> None:
        name = operation.name
        if name in ("for", "while", "if"):
            self.structured(operation)
        elif name in ACCESSES:
            self.access(operation)
        elif name == "dot":
            self.product(operation)
        elif self.is_template(operation):
            self.templates.append(operation)
        else:
            self.plain(operation)

    def product(self, operation: Operation) -> None:
        """A factor in shared memory is converted from the layout it is computed in."""
        chosen = self.homes.products[operation]
        for index, value in enumerate(operation.operands):
            wish = self.homes.operand(operation, index)
            if wish is None or (isinstance(wish, SharedLayout) and value.layout is None):
                home = self.homes.home.get(value) or self.homes.default(value.type.shape)
                self.take(operation, index, home)
            if wish is not None:
                self.take(operation, index, wish)
        operation.results[0].layout = chosen.accumulator

    def is_template(self, operation: Operation) -> bool:
        """Whether the operation is made anew in each layout that is needed."""
        if not any(r.type.shape for r in operation.results):
            return False
        name = operation.name
        if name in rules.SOURCES or name in rules.FOLLOWS:
            return True
        movable = rules.is_elementwise(operation) or name in ("reshape", "permute")
        return movable and not any(r in self.homes.home for r in operation.results)

    def plain(self, operation: Operation) -> None:
        anchor = self.homes.anchors.get(operation)
        follows = rules.is_elementwise(operation) or operation.name in ("reshape", "permute")
        for result in operation.results:
            result.layout = self.homes.home.get(result)
        for index, operand in enumerate(operation.operands):
            if not operand.type.shape:
                continue
            if follows and operation.results[0].type.shape:
                layout = rules.backward(operation, index, operation.results[0].layout)
            elif anchor is not None and wishes.asks(operation, index, anchor):
                layout = anchor
            else:
                layout = self.homes.home.get(operand) or self.homes.default(operand.type.shape)
            self.take(operation, index, layout)

    def access(self, operation: Operation) -> None:
        anchor = self.homes.anchors.get(operation)
        if anchor is None:
            return
        for index in range(len(operation.operands)):
            self.take(operation, index, anchor)
        for result in operation.results:
            result.layout = anchor
        if operation.name in ("load", "store", "atomic_rmw"):
            width = memory.access_width(operation, self.facts, anchor, self.homes.capability)
            operation.attributes["vector"] = width

    # ---- values in a layout

    def take(self, operation: Operation, index: int, layout: Any) -> None:
        """Makes an operand of an operation the same value in a layout."""
        value = operation.operands[index]
        if value.type.shape and layout is not None:
            operation.set_operand(index, self.require(value, layout))

    def require(self, value: Value, layout: Any) -> Value:
        """The value, held as `layout`."""
        if value.layout == layout:
            return value
        known = self.made.get((value, layout))
        if known is None:
            known = self.made[value, layout] = self.make(value, layout)
        return known

    def make(self, value: Value, layout: Any) -> Value:
        producer = value.producer
        template = producer is not None and self.is_template(producer)
        if producer is not None and template and isinstance(layout, Layout):
            return self.again(producer, value, layout)
        if value.layout is None:
            value.layout = layout
            return value
        made = Operation(CONVERT, [value], [value.type], location=_location(value))
        _insert_after(value, made)
        made.results[0].layout, made.results[0].name = layout, value.name
        self.tell(value, made.results[0])
        return made.results[0]

    def again(self, producer: Operation, value: Value, layout: Layout) -> Value:
        """The operation once more, for another layout, just behind the original."""
        copy = Operation(
            producer.op, producer.operands, [r.type for r in producer.results],
            producer.attributes, location=producer.location,
        )  # fmt: skip
        assert producer.parent is not None
        place = producer.parent.operations.index(producer)
        producer.parent.operations.insert(place + 1, copy)
        copy.parent = producer.parent
        for old, new in zip(producer.results, copy.results, strict=True):
            new.layout, new.name = layout, old.name
            self.made[old, layout] = new
            self.tell(old, new)
        for index in range(len(copy.operands)):
            self.take(copy, index, rules.backward(copy, index, layout))
        return copy.results[value.index]

    def tell(self, old: Value, new: Value) -> None:
        if old in self.facts:
            self.facts[new] = self.facts[old]  # type: ignore[index]

    # ---- structured control flow

    def structured(self, operation: Operation) -> None:
        home = self.homes.home
        for value in [*operation.results, *(a for r in operation.regions for a in r.arguments)]:
            value.layout = home.get(value)
        if operation.name == "for":
            (body,) = operation.regions
            wanted = [None, None, None, *(a.layout for a in body.arguments[1:])]
            self.take_all(operation, wanted)
            self.region(body)
            self.take_all(body.terminator, [a.layout for a in body.arguments[1:]])
        elif operation.name == "while":
            test, body = operation.regions
            self.take_all(operation, [a.layout for a in test.arguments])
            self.region(test)
            self.take_all(test.terminator, [None, *(a.layout for a in body.arguments)])
            self.region(body)
            self.take_all(body.terminator, [a.layout for a in test.arguments])
        else:
            for region in operation.regions:
                self.region(region)
                self.take_all(region.terminator, [r.layout for r in operation.results])

    def take_all(self, operation: Operation, wanted: list[Layout | None]) -> None:
        for index, layout in enumerate(wanted):
            self.take(operation, index, layout)


def _copy_in_each_cta(function: Function, num_ctas: int) -> None:
    """Every CTA of a cluster holds the whole block; one of them stores."""
    none = (0,) * (num_ctas.bit_length() - 1)
    values = [*function.parameters]
    for operation in function.walk():
        values += [*operation.results, *(a for r in operation.regions for a in r.arguments)]
    for value in values:
        if isinstance(value.layout, Layout):
            value.layout = replace(value.layout, ctas=none)


def _location(value: Value) -> Any:
    return value.producer.location if value.producer is not None else None


def _insert_after(value: Value, operation: Operation) -> None:
    """Right behind what computes the value; at the start of the region it is an argument of."""
    owner = value.owner
    if isinstance(owner, Region):
        owner.operations.insert(0, operation)
        operation.parent = owner
        return
    region = owner.parent
    assert region is not None
    region.operations.insert(region.operations.index(owner) + 1, operation)
    operation.parent = region
