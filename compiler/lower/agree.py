"""One lane acts for all holders of an element, and what it found reaches the others.

A layout says who holds copies: its zero bases. The *leader* of an element has those bits 0 (lane 0
of warp 0 for a scalar). Invariant: after `agree`, all holders have the leader's value, which scalars
and blocks must be for control flow to be uniform.
"""

from __future__ import annotations

from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering, Unlowered
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout
from blockstep.ir.layout import rank
from blockstep.language import types as ty


def require_single_leaders(lw: Lowering, layout: Layout | None) -> None:
    """Raises Unlowered where the lanes that `Lowering.leaders` names are not one for each element."""
    if lw.options.num_ctas > 1:
        raise Unlowered("an effect of one lane in a program instance of several CTAs")
    if layout is None:
        return
    moving = [basis for basis in layout.bases if basis]
    if rank(moving) != len(moving):
        raise Unlowered(f"an effect of one lane for a block held as {layout}")


def copy_bits(layout: Layout | None) -> int:
    """The bits of a register number that make no difference."""
    if layout is None:
        return 0
    return sum(1 << k for k, image in enumerate(layout.registers) if image == 0)


def scratch_bytes(lw: Lowering, kind: ty.dtype, layout: Layout | None) -> int:
    """Bytes of shared memory that agreeing takes; 0 where lanes of one warp tell each other."""
    size = lanes.bytes_of(kind)
    if layout is None:
        return size if lw.options.num_warps > 1 else 0
    return layout.numel * size if 0 in layout.warps else 0


def agree(lw: Lowering, item: Item, layout: Layout | None, place: str = "") -> Item:
    """`item`, as the leaders of its elements hold it. `place` is the shared memory that it takes, if
    there is some already, free of readers. All lanes have met where it took any."""
    require_single_leaders(lw, layout)
    size = scratch_bytes(lw, item.kind, layout)
    if size:
        return _through_memory(lw, item, layout, place or lw.scratch(size))
    if layout is None:
        return lanes.from_lane(lw, item, "0")
    idle = sum(1 << k for k, image in enumerate(layout.lanes) if image == 0)
    if not idle:
        return item
    return lanes.from_lane(lw, item, lw.b.value(f"and i32 {lw.lane}, {31 & ~idle}"))


def _through_memory(lw: Lowering, item: Item, layout: Layout | None, place: str) -> Item:
    size, idle = lanes.bytes_of(item.kind), copy_bits(layout)
    base = "0" if layout is None else lw.base(layout)
    parts = lw.parts(item)
    offsets = {
        register: _offset(lw, place, base, constant, size)
        for register, constant in enumerate(_constants(layout))
        if not register & idle
    }

    def fill() -> None:
        for register, offset in offsets.items():
            lanes.put(lw, offset, Item(parts[register], item.kind))

    lanes.guarded(lw, lw.leaders(layout), fill)
    lw.barrier()
    found = {r: lanes.get(lw, offset, item.kind, None).name for r, offset in offsets.items()}
    return lw.join([found[r & ~idle] for r in range(len(parts))], item.kind, item.count)


def _constants(layout: Layout | None) -> list[int]:
    """What each register adds to the element of a lane."""
    if layout is None:
        return [0]
    return [layout.element(r, 0, 0) for r in range(layout.per_lane)]


def _offset(lw: Lowering, place: str, base: str, constant: int, size: int) -> str:
    flat = lw.b.value(f"xor i32 {base}, {constant}") if constant else base
    moved = lw.b.value(f"mul nuw nsw i32 {flat}, {size}")
    return lw.b.value(f"add nuw nsw i32 {place}, {moved}")


__all__ = ["agree", "copy_bits", "require_single_leaders", "scratch_bytes"]
