"""One lane acts for all holders of an element, and what it found reaches the others.

The *leader* of an element is the holder whose redundant bits are 0 (lane 0 of warp 0 for a scalar),
in the first CTA of a cluster: all CTAs of a cluster hold the same. Invariant: after `agree`, all
holders have the leader's value, as they must for control flow to be uniform.
"""

from __future__ import annotations

from blockstep.compiler.layouts import redundant
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout
from blockstep.language import types as ty


def copies_are_equal(layout: Layout | None) -> bool:
    """Whether registers that differ in redundant bits, and lanes that do, hold the same."""
    if layout is None:
        return True
    spare = redundant(layout)
    masks = (spare.registers, spare.lanes, spare.warps, spare.ctas)
    kinds = (layout.registers, layout.lanes, layout.warps, layout.ctas)
    return not any(
        image and mask >> bit & 1
        for mask, bases in zip(masks, kinds, strict=True)
        for bit, image in enumerate(bases)
    )


def copy_bits(layout: Layout | None) -> int:
    """The bits of a register number for which a lane does not act."""
    return 0 if layout is None else redundant(layout).registers


def scratch_bytes(lw: Lowering, kind: ty.dtype, layout: Layout | None) -> int:
    """Bytes of shared memory that agreeing takes; 0 where lanes of one warp tell each other."""
    size = lanes.bytes_of(kind)
    several = lw.options.num_ctas > 1
    if layout is None:
        return size if several or lw.options.num_warps > 1 else 0
    apart = several or redundant(layout).warps or not copies_are_equal(layout)
    return layout.numel * size if apart else 0


def agree(lw: Lowering, item: Item, layout: Layout | None, place: str = "") -> Item:
    """`item`, as the leaders of its elements hold it. `place` is the shared memory that it takes, if
    there is some already, free of readers. All lanes have met where it took any."""
    size = scratch_bytes(lw, item.kind, layout)
    if size:
        return _through_memory(lw, item, layout, place or lw.scratch(size))
    if layout is None:
        return lanes.from_lane(lw, item, "0")
    idle = redundant(layout).lanes
    if not idle:
        return item
    return lanes.from_lane(lw, item, lw.b.value(f"and i32 {lw.lane}, {31 & ~idle}"))


def _through_memory(lw: Lowering, item: Item, layout: Layout | None, place: str) -> Item:
    size, idle = lanes.bytes_of(item.kind), copy_bits(layout)
    base = "0" if layout is None else lw.base(layout)
    parts = lw.parts(item)
    offsets = [_offset(lw, place, base, constant, size) for constant in _constants(layout)]

    def fill() -> None:
        for register, offset in enumerate(offsets):
            if not register & idle:
                lanes.put(lw, offset, Item(parts[register], item.kind))

    lanes.guarded(lw, lw.leaders(layout), fill)
    _meet(lw)
    get = lanes.get if lw.options.num_ctas == 1 else _get_from_first
    found = [get(lw, offset, item.kind, None).name for offset in offsets]
    if lw.options.num_ctas > 1:
        _meet(lw)  # the first CTA's memory stays until all have read it
    return lw.join(found, item.kind, item.count)


def _meet(lw: Lowering) -> None:
    """All lanes of the program instance wait for each other."""
    if lw.options.num_ctas == 1:
        lw.barrier()
        return
    lw.b.call("void", "llvm.nvvm.barrier.cluster.arrive.aligned", [], "#1")
    lw.b.call("void", "llvm.nvvm.barrier.cluster.wait.aligned", [], "#1")


def _get_from_first(lw: Lowering, offset: str, kind: ty.dtype, count: int | None) -> Item:
    """An element from the shared memory of the cluster's first CTA, where the leaders are."""
    bits = 8 * lanes.bytes_of(kind)
    wide, letter = max(bits, 16), {16: "h", 32: "r", 64: "l"}[max(bits, 16)]
    address = lw.shared_address(offset)
    there = lw.b.asm("i32", "mapa.shared::cluster.u32 $0, $1, 0;", "=r,r", [f"i32 {address}"])
    word = lw.b.asm(
        f"i{wide}", f"ld.shared::cluster.b{bits} $0, [$1];", f"={letter},r,~{{memory}}",
        [f"i32 {there}"],
    )  # fmt: skip
    if bits < wide:
        word = lw.b.value(f"trunc i{wide} {word} to i{bits}")
    if kind.is_int1():
        return Item(lw.b.value(f"icmp ne i8 {word}, 0"), kind)
    element = Item("", kind.scalar).type
    if element != f"i{bits}":
        word = lw.b.value(f"bitcast i{bits} {word} to {element}")
    return Item(word, kind.scalar, count)


def _constants(layout: Layout | None) -> list[int]:
    """What each register adds to the element of a lane."""
    if layout is None:
        return [0]
    return [layout.element(r, 0, 0) for r in range(layout.per_lane)]


def _offset(lw: Lowering, place: str, base: str, constant: int, size: int) -> str:
    flat = lw.b.value(f"xor i32 {base}, {constant}") if constant else base
    moved = lw.b.value(f"mul nuw nsw i32 {flat}, {size}")
    return lw.b.value(f"add nuw nsw i32 {place}, {moved}")


__all__ = ["agree", "copies_are_equal", "copy_bits", "scratch_bytes"]
