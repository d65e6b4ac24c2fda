"""Fragments of 16-bit elements to shared memory by `stmatrix` (PTX ISA, from sm_90 on)."""

from __future__ import annotations

from blockstep.compiler.layouts.matrices import FOUR, SIZE, Matrices
from blockstep.compiler.layouts.shared import SharedLayout
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering
from blockstep.compiler.lower.text import Item
from blockstep.ir.layout import xor


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
            first = number << FOUR
            _emit(lw, lw.b.value(f"add i32 {place}, {offset}"), words[first : first + (1 << FOUR)])

    lanes.guarded(lw, lw.first_holder(found.rows), write)  # whole warps


def _emit(lw: Lowering, offset: str, words: list[str]) -> None:
    lw.b.asm(
        "void", "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};",
        "r,r,r,r,r,~{memory}",
        [f"i32 {lw.shared_address(offset)}", *[f"i32 {word}" for word in words]],
    )  # fmt: skip


__all__ = ["store"]
