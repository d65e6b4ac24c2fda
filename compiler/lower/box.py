"""Pointers and masks of a rectangular block, made out of scalars in whatever layout is asked for.

A coordinate along an axis is `offset + position`; the position is what the lane contributes, joined
with a constant of the register. Everything is computed in 64 bits, as the operations mean.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_

from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout, Operation
from blockstep.language import types as ty


def _wide(lw: Lowering, item: Item) -> str:
    """A scalar integer in 64 bits."""
    if item.kind.is_ptr() or item.kind.primitive_bitwidth == 64:
        return item.name
    if not item.name.startswith("%"):
        return item.name
    how = "sext" if item.kind.is_int_signed() else "zext"
    return lw.b.value(f"{how} {item} to i64")


def _along(layout: Layout, axis: int) -> Callable[[int], int]:
    """From an element to its position along an axis."""
    below = 1
    for length in layout.shape[axis + 1 :]:
        below *= length
    return lambda element: element // below % layout.shape[axis]


class _Axis:
    """The positions of a block's elements along one axis; equal ones are computed once."""

    def __init__(self, lw: Lowering, layout: Layout, axis: int, offset: Item) -> None:
        self.lw, self.position = lw, _along(layout, axis)
        self.constants = [self.position(layout.element(r, 0, 0)) for r in range(layout.per_lane)]
        moving = reduce(or_, map(self.position, layout.lanes + layout.warps + layout.ctas), 0)
        self.apart = not any(c & moving for c in self.constants)
        self.base = lw.base(layout, self.position)
        self.offset = _wide(lw, offset)
        self.known: dict[int, str] = {}

    def at(self, register: int) -> str:
        """`offset + position` of what a register holds: an i64."""
        constant = self.constants[register]
        if constant not in self.known:
            self.known[constant] = self._made(constant)
        return self.known[constant]

    def _made(self, constant: int) -> str:
        b = self.lw.b
        if self.apart and constant:
            return b.value(f"add i64 {self.at_zero()}, {constant}")
        place = b.value(f"xor i32 {self.base}, {constant}") if constant else self.base
        wide = b.value(f"zext i32 {place} to i64")
        return b.value(f"add i64 {self.offset}, {wide}")

    def at_zero(self) -> str:
        if 0 not in self.known:
            self.known[0] = self._made(0)
        return self.known[0]


@lowers("box_pointers")
def _box_pointers(lw: Lowering, operation: Operation) -> None:
    (result,) = operation.results
    layout = lw.layout(result)
    base, *parts = lw.operands(operation)
    size = operation.attributes["itemsize"]
    rows = [_terms(lw, layout, axis, parts, size) for axis in range(layout.rank)]
    found = []
    for register in range(layout.per_lane):
        total = base.name
        for row in rows:
            total = lw.b.value(f"add i64 {total}, {row[register]}")
        found.append(total)
    lw.bind(result, lw.join(found, result.type.scalar, layout.per_lane))


def _terms(lw: Lowering, layout: Layout, axis: int, parts: list[Item], size: int) -> list[str]:
    """For each register, the bytes that one axis adds to the address: an i64."""
    places = _Axis(lw, layout, axis, parts[axis])
    stride = lw.b.value(f"mul i64 {_wide(lw, parts[layout.rank + axis])}, {size}")
    known: dict[str, str] = {}
    found = []
    for register in range(layout.per_lane):
        place = places.at(register)
        if place not in known:
            known[place] = lw.b.value(f"mul i64 {place}, {stride}")
        found.append(known[place])
    return found


@lowers("box_mask")
def _box_mask(lw: Lowering, operation: Operation) -> None:
    (result,) = operation.results
    layout = lw.layout(result)
    parts = lw.operands(operation)
    axes = operation.attributes["axes"]
    found = ["true"] * layout.per_lane
    for number, axis in enumerate(axes):
        inside = _inside(lw, layout, axis, parts[number], parts[len(axes) + number])
        found = [
            new if old == "true" else lw.b.value(f"and i1 {old}, {new}")
            for old, new in zip(found, inside, strict=True)
        ]
    lw.bind(result, lw.join(found, ty.int1, layout.per_lane))


def _inside(lw: Lowering, layout: Layout, axis: int, offset: Item, limit: Item) -> list[str]:
    """For each register, whether 0 <= place < limit along an axis: an i1."""
    places = _Axis(lw, layout, axis, offset)
    end = _wide(lw, limit)
    known: dict[str, str] = {}
    found = []
    for register in range(layout.per_lane):
        place = places.at(register)
        if place not in known:
            low = lw.b.value(f"icmp sge i64 {place}, 0")
            high = lw.b.value(f"icmp slt i64 {place}, {end}")
            known[place] = lw.b.value(f"and i1 {low}, {high}")
        found.append(known[place])
    return found
