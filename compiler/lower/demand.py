"""Which registers of a block anybody looks at.

Of pointers and masks an access uses one in each group of neighbours, so most of the arithmetic on them
is for nothing. LLVM sees that in straight code; what a loop carries it keeps whole. A register that is
not demanded may hold anything.
"""

from __future__ import annotations

from collections.abc import Iterable

from blockstep.compiler.layouts.shared import SharedLayout, accesses
from blockstep.compiler.placement import rules
from blockstep.ir import Function, Layout, Operation, Region, Value

_SAME = frozenset({"expand_dims", "permute"})
_WHOLE = frozenset({"asm", "map", "idiv", "irem"})
"""Elementwise operations that are computed for all registers: LLVM calls it undefined to divide by a
number that may be anything, even where nobody looks at the quotient."""
_OPERANDS = {
    "load": ("pointer", "mask", "other"),
    "store": ("pointer", "value", "mask"),
    "async_copy": ("ring", "slot", "active", "pointer", "mask"),
}


class Demand:
    """`demand[value]` are the registers of a block value that are used."""

    def __init__(self, function: Function) -> None:
        self._found: dict[Value, set[int]] = {}
        self._waiting: list[tuple[Value, frozenset[int]]] = []
        for operation in function.walk():
            self._start(operation)
        while self._waiting:
            self._spread(*self._waiting.pop())

    def __getitem__(self, value: Value) -> set[int]:
        return self._found.get(value, set())

    def _add(self, value: Value, registers: Iterable[int]) -> None:
        if not isinstance(value.layout, Layout):
            return
        known = self._found.setdefault(value, set())
        new = frozenset(registers) - known
        if new:
            known |= new
            self._waiting.append((value, new))

    # ---- what operations ask for themselves

    def _start(self, operation: Operation) -> None:
        name = operation.name
        if name in ("load", "store", "async_copy"):
            self._access(operation)
        elif name in ("for", "while", "if", "yield") or _passes(operation):
            return
        else:
            for value in operation.operands:
                self._add(value, _all(value))

    def _access(self, operation: Operation) -> None:
        """One register a group, of pointers and masks; all of what is stored or stands in."""
        slots = operation.attributes.get("operand_slots")
        names = [n for i, n in enumerate(_OPERANDS[operation.name]) if slots is None or slots[i]]
        for name, value in zip(names, operation.operands, strict=False):
            if isinstance(value.layout, Layout):
                told = name in ("pointer", "mask")
                self._add(value, _heads(operation, value) if told else _all(value))

    # ---- what values ask of what they are made of

    def _spread(self, value: Value, registers: frozenset[int]) -> None:
        owner = value.owner
        if isinstance(owner, Region):
            self._argument(value, owner, registers)
            return
        if owner.name == "for":
            (body,) = owner.regions
            self._carried(owner, body, value.index, registers)
            self._add(body.arguments[value.index + 1], registers)
        elif owner.name == "while":
            self._add(owner.regions[0].terminator.operands[value.index + 1], registers)
        elif owner.name == "if":
            for region in owner.regions:
                self._add(region.terminator.operands[value.index], registers)
        elif _passes(owner):
            self._made(owner, value, registers)

    def _argument(self, value: Value, region: Region, registers: frozenset[int]) -> None:
        owner = region.parent
        if not isinstance(owner, Operation):
            return
        if owner.name == "for":
            self._carried(owner, region, value.index - 1, registers)
        elif owner.name == "while":
            test, body = owner.regions
            if region is body:
                self._add(test.terminator.operands[value.index + 1], registers)
            else:
                self._add(owner.operands[value.index], registers)
                self._add(body.terminator.operands[value.index], registers)

    def _carried(
        self, loop: Operation, body: Region, index: int, registers: frozenset[int]
    ) -> None:
        self._add(loop.operands[3 + index], registers)
        self._add(body.terminator.operands[index], registers)

    def _made(self, operation: Operation, value: Value, registers: frozenset[int]) -> None:
        for operand in operation.operands:
            if operation.name != "broadcast":
                self._add(operand, registers)
                continue
            where = _sources(operand.layout, value.layout)
            self._add(operand, {where[r] for r in registers})


def _passes(operation: Operation) -> bool:
    """Whether register i of the result is made of register i of each operand, or nearly so."""
    if operation.name in ("broadcast", *_SAME):
        return True
    runs = any(result.run > 1 for result in operation.results)
    return rules.is_elementwise(operation) and not runs and operation.name not in _WHOLE


def _all(value: Value) -> range:
    layout = value.layout
    return range(layout.per_lane if isinstance(layout, Layout) else 0)


def _heads(operation: Operation, value: Value) -> Iterable[int]:
    width = operation.attributes.get("vector", 1)
    if operation.name != "async_copy":
        return _all(value)[::width]
    target = operation.attributes["layout"]
    assert isinstance(target, SharedLayout)
    return [access.registers[0][0] for access in accesses(value.layout, target, width)]


def _sources(source: Layout, target: Layout) -> list[int]:
    """The register of a block with axes of length 1 that each register of the whole one repeats."""
    from blockstep.compiler.lower.shape import narrowed

    where = {source.element(r, 0, 0): r for r in reversed(range(source.per_lane))}
    return [
        where[narrowed(target.element(r, 0, 0), target.shape, source.shape)]
        for r in range(target.per_lane)
    ]


__all__ = ["Demand"]
