"""Which layout each block value is computed in: its home.

Loads, products, reductions and what is computed from them have a home, which follows from how they
are made. Everything made of ranges, constants and scalars alone (pointers, masks, zeros) has none: it
is cheap to make in whatever layout somebody needs, so it is made there (`place`). What a loop or a
branch carries must be held in one way: the home of what flows in, or else the first demand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blockstep.compiler import layouts
from blockstep.compiler.passes.effects import is_pure
from blockstep.compiler.placement import memory, products, rules, wishes
from blockstep.ir import Function, Layout, Operation, Region, Value

ACCESSES = frozenset({"load", "store", "atomic_rmw", "atomic_cas", "atomic_load", "atomic_store"})
_PASSES = 4  # over a loop's body until what it carries has settled


class Homes:
    """The analysis of one function. `home` has no entry for values that can be made anywhere."""

    def __init__(
        self, function: Function, facts: Mapping[Value, Any], num_warps: int, capability: int
    ) -> None:
        self.facts, self.num_warps, self.capability = facts, num_warps, capability
        self.home: dict[Value, Layout] = {}
        self.anchors: dict[Operation, Layout] = {}  # how accesses and the like want operands
        self.products: dict[Operation, products.Product] = {}
        self.demands: dict[Value, Layout] = {}
        self._forward(function.body)
        self._demand(function.body)
        self._demand(function.body)
        self._settle(function.body)

    def default(self, shape: tuple[int, ...]) -> Layout:
        """A layout for a block that nobody has wishes for."""
        numel = 1
        for n in shape:
            numel *= n
        vector = max(1, min(4, numel // (32 * self.num_warps)))
        return layouts.coalesced(shape, tuple(reversed(range(len(shape)))), vector, self.num_warps)

    def operand(self, operation: Operation, index: int) -> Any:
        """How an operand of a product must be held: a Layout, a SharedLayout, or None."""
        value = operation.operands[index]
        return products.operand(operation, index, self.products[operation], self.home.get(value))

    # ---- forward: homes follow from operands

    def _forward(self, region: Region) -> None:
        for operation in region.operations:
            self._one(operation)

    def _set(self, value: Value, layout: Layout | None) -> None:
        if value.type.shape and layout is not None:
            self.home[value] = layout

    def _one(self, operation: Operation) -> None:
        name = operation.name
        if name == "for":
            self._loop(operation, operation.operands[3:], operation.regions[0].arguments[1:])
        elif name == "while":
            self._while(operation)
        elif name == "if":
            self._if(operation)
        elif name in ACCESSES:
            self._access(operation)
        elif name == "dot":
            self._dot(operation)
        else:
            self._plain(operation)

    def _dot(self, operation: Operation) -> None:
        chosen = products.of(operation, self.num_warps, self.capability)
        self.products[operation] = chosen
        self._set(operation.results[0], chosen.accumulator)

    def _access(self, operation: Operation) -> None:
        if not operation.operands[0].type.shape:
            return
        best = memory.wanted(operation, self.facts, self.num_warps, self.capability)
        if operation.name != "load":
            value = operation.operands[-2] if memory.mask_of(operation) else operation.operands[-1]
            own = self.home.get(value)
            if own is not None and memory.is_good(
                operation, self.facts, own, best, self.capability
            ):
                best = own
        self.anchors[operation] = best
        for result in operation.results:
            self._set(result, best)

    def _plain(self, operation: Operation) -> None:
        name = operation.name
        if name in rules.SOURCES or name in rules.FOLLOWS or not operation.results:
            return
        found = self._dominant(operation)
        if rules.is_elementwise(operation):
            if found is None and not is_pure(operation):  # done once, in one layout
                found = self.default(operation.results[0].type.shape)
            for result in operation.results:
                self._set(result, found)
            return
        if name in ("reshape", "permute"):
            if found is not None:
                self._set(operation.results[0], rules.FORWARD[name](operation, found))
            return
        self._moving(operation, found)

    def _moving(self, operation: Operation, found: Layout | None) -> None:
        """Operations that combine or move elements: they need their operand in some layout."""
        leading = wishes.LEADING.get(operation.name)
        lead = operation.operands[leading or 0] if operation.operands else None
        shape = lead.type.shape if lead is not None else ()
        if leading is not None and lead is not None:
            found = self.home.get(lead)
        wish = wishes.WISHES.get(operation.name)
        need = wish(operation, found or self.default(shape)) if wish and shape else None
        if need is None:
            for result in operation.results:
                if result.type.shape:
                    self._set(result, self.default(result.type.shape))
            return
        self.anchors[operation] = need
        forward = rules.FORWARD.get(operation.name)
        for result in operation.results:
            if not result.type.shape:
                continue
            made = forward(operation, need) if forward is not None else None
            if made is None:
                made = need if result.type.shape == shape else self.default(result.type.shape)
            self._set(result, made)

    def _dominant(self, operation: Operation) -> Layout | None:
        """The home of an operand: that of a product before others, else the first."""
        found = [self.natural(v) for v in operation.operands if v in self.home]
        if not found:
            return None
        return max(found, key=lambda home: home is not None and products.is_fragment(home))

    def natural(self, value: Value) -> Layout | None:
        """The home of a value."""
        return self.home.get(value)

    def _loop(self, loop: Operation, initial: list[Value], arguments: list[Value]) -> None:
        (body,) = loop.regions
        self._settle_carried(
            body, initial, arguments, lambda: list(body.terminator.operands), [body]
        )
        for result, argument in zip(loop.results, arguments, strict=True):
            self._set(result, self.home.get(argument))

    def _while(self, loop: Operation) -> None:
        test, body = loop.regions

        def yielded() -> list[Value]:
            return list(body.terminator.operands)

        def between() -> None:
            for argument, value in zip(body.arguments, test.terminator.operands[1:], strict=True):
                self._set(argument, self.home.get(value))

        self._settle_carried(
            body, list(loop.operands), test.arguments, yielded, [test, body], between
        )
        for result, value in zip(loop.results, test.terminator.operands[1:], strict=True):
            self._set(result, self.home.get(value))

    def _settle_carried(
        self, body: Region, initial: list[Value], arguments: list[Value], yielded: Any,
        regions: list[Region], between: Any = None,
    ) -> None:  # fmt: skip
        for argument, value in zip(arguments, initial, strict=True):
            self._set(argument, self.home.get(value))
        for _ in range(_PASSES):
            for number, region in enumerate(regions):
                self._forward(region)
                if number == 0 and between is not None:
                    between()
            changed = False
            for argument, value in zip(arguments, yielded(), strict=True):
                new = self.home.get(value)
                old = self.home.get(argument)
                if new is not None and (old is None or _better(new, old)):
                    self.home[argument] = new
                    changed = True
            if not changed:
                return

    def _if(self, choice: Operation) -> None:
        for region in choice.regions:
            self._forward(region)
        for i, result in enumerate(choice.results):
            found = [self.home.get(r.terminator.operands[i]) for r in choice.regions]
            known = [home for home in found if home is not None]
            if known:
                self._set(result, max(known, key=products.is_fragment))

    # ---- backward: what nobody computes gets the first demand

    def _want(self, value: Value, layout: Layout | None) -> None:
        if layout is not None and value.type.shape and value not in self.home:
            self.demands.setdefault(value, layout)

    def _demand(self, region: Region) -> None:
        for operation in reversed(region.operations):
            self._demand_one(operation)

    def _demand_one(self, operation: Operation) -> None:
        anchor = self.anchors.get(operation)
        if operation.name in ("for", "while", "if"):
            self._demand_structured(operation)
        elif operation.name == "dot":
            for index, operand in enumerate(operation.operands):
                wish = self.operand(operation, index)
                self._want(operand, wish if isinstance(wish, Layout) else None)
        elif anchor is not None:
            for index, operand in enumerate(operation.operands):
                if wishes.asks(operation, index, anchor):
                    self._want(operand, anchor)
        else:
            for result in operation.results:
                wish = self.home.get(result) or self.demands.get(result)
                if wish is not None:
                    self._pass_on(operation, wish)

    def _pass_on(self, operation: Operation, wish: Layout) -> None:
        movable = rules.is_elementwise(operation) or operation.name in rules.BACKWARD
        if movable:
            for index, operand in enumerate(operation.operands):
                self._want(operand, rules.backward(operation, index, wish))

    def _demand_structured(self, operation: Operation) -> None:
        regions = operation.regions
        if operation.name == "if":
            for i, result in enumerate(operation.results):
                wish = self.home.get(result) or self.demands.get(result)
                for region in regions:
                    self._want(region.terminator.operands[i], wish)
        elif operation.name == "for":
            self._demand_carried(
                operation.results, regions[0].arguments[1:], operation.operands[3:],
                regions[0].terminator.operands,
            )  # fmt: skip
        else:
            test, body = regions
            passed = test.terminator.operands[1:]
            for result, argument, value in zip(
                operation.results, body.arguments, passed, strict=True
            ):
                self._want(value, self.demands.get(result) or self.demands.get(argument))
            self._demand_carried(
                [None] * len(test.arguments), test.arguments, operation.operands,
                body.terminator.operands,
            )  # fmt: skip
        for region in reversed(regions):
            self._demand(region)

    def _demand_carried(
        self, results: Any, arguments: list[Value], initial: Any, yielded: Any
    ) -> None:
        for result, argument, first, last in zip(results, arguments, initial, yielded, strict=True):
            wish = self.home.get(argument) or self.demands.get(argument)
            if wish is None and result is not None:
                wish = self.demands.get(result)
            self._want(argument, wish)
            self._want(first, wish)
            self._want(last, wish)

    # ---- what is carried is held in one way

    def _settle(self, region: Region) -> None:
        for operation in region.operations:
            if operation.name in ("for", "while", "if"):
                self._settle_values(operation)
                for inner in operation.regions:
                    self._settle(inner)

    def _settle_values(self, operation: Operation) -> None:
        regions = operation.regions
        if operation.name == "if":
            for result in operation.results:
                self._decide(result)
        elif operation.name == "for":
            for result, argument in zip(operation.results, regions[0].arguments[1:], strict=True):
                self._decide(argument)
                if argument.type.shape:
                    self.home[result] = self.home[argument]
        else:
            for argument in regions[0].arguments:
                self._decide(argument)
            for argument, result in zip(regions[1].arguments, operation.results, strict=True):
                self._decide(argument)
                if argument.type.shape:
                    self.home[result] = self.home[argument]

    def _decide(self, value: Value) -> None:
        if value.type.shape and value not in self.home:
            self.home[value] = self.demands.get(value) or self.default(value.type.shape)


def _better(new: Layout, old: Layout) -> bool:
    """A product's own layout is worth keeping in a loop."""
    return products.is_fragment(new) and not products.is_fragment(old)
