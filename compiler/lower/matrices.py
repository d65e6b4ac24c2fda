"""Fragments of 16-bit elements to shared memory by `stmatrix` (PTX ISA, from sm_90 on).

An instruction of a warp stores four matrices of 8 rows of 8 elements, 16 bytes each: lane l holds two
neighbours of row l // 4 of each, and names where row l % 8 of matrix l // 8 begins. To memory that is
a store of 16 bytes from lanes that each hold whole rows; `whole_rows` is the layout in which they
would. Every rule about vectors and bank conflicts is asked of that layout.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.compiler.layouts import redundant
from blockstep.compiler.layouts.shared import SharedLayout, widest
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout
from blockstep.ir.layout import xor

ROW = 8  # elements
SIZE = 2  # bytes of an element
_FIRST = 90  # the architecture
_PAIR, _FOUR = 1, 2  # register bits of a pair of neighbours, and of four matrices


@dataclass(frozen=True, slots=True)
class Matrices:
    """A fragment as matrices: `rows`, the layout whose lanes hold whole rows, and what is left of
    the registers once those are gone, `rest`."""

    rows: Layout
    rest: tuple[int, ...]


def whole_rows(source: Layout, size: int, capability: int) -> Matrices | None:
    """How a layout of elements of `size` bytes can be stored as matrices; None: it cannot."""
    pair, others = source.registers[:_PAIR], source.registers[_PAIR:]
    if size != SIZE or capability < _FIRST or len(others) < _FOUR or len(source.lanes) != 5:
        return None
    spare = redundant(source)
    if spare.registers or spare.lanes:
        return None
    four, rest = others[:_FOUR], others[_FOUR:]
    rows = Layout(
        source.shape, (*pair, *source.lanes[:2], *rest), (*source.lanes[2:], *four),
        source.warps, source.ctas,
    )  # fmt: skip
    return Matrices(rows, rest)


def fits(found: Matrices, shared: SharedLayout) -> bool:
    """Whether the rows of the matrices are rows in memory: the pair first, then the lanes'."""
    pair, lanes_ = found.rows.registers[0], found.rows.registers[1:3]
    straight = [shared.address(image) for image in (pair, *lanes_)] == [1, 2, 4]
    return straight and widest(found.rows, shared, SIZE) == ROW


def store(lw: Lowering, item: Item, found: Matrices, shared: SharedLayout, place: str) -> None:
    """Every element to its address, four matrices at once."""
    moving = 0
    for basis in (*found.rows.lanes, *found.rows.warps, *found.rows.ctas):
        moving |= shared.address(basis)
    base = lw.base(found.rows, lambda element: shared.address(element) * SIZE)
    words = lanes.to_registers(lw, item)  # a pair each

    def write() -> None:
        for number in range(1 << len(found.rest)):
            at = shared.address(xor(found.rest, number))
            own = lw.plus(base, (at & moving) * SIZE, disjoint=False)
            offset = lw.plus(own, (at & ~moving) * SIZE)
            first = number << _FOUR
            _emit(lw, lw.b.value(f"add i32 {place}, {offset}"), words[first : first + (1 << _FOUR)])

    lanes.guarded(lw, lw.first_holder(found.rows), write)  # whole warps


def _emit(lw: Lowering, offset: str, words: list[str]) -> None:
    lw.b.asm(
        "void", "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};",
        "r,r,r,r,r,~{memory}",
        [f"i32 {lw.shared_address(offset)}", *[f"i32 {word}" for word in words]],
    )  # fmt: skip


__all__ = ["ROW", "SIZE", "Matrices", "fits", "store", "whole_rows"]
