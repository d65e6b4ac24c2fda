"""A block in another layout: registers renamed, or every element through shared memory."""

from __future__ import annotations

from blockstep.compiler.layouts.shared import SharedLayout, accesses, widest
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout, Value
from blockstep.language import types as ty


def convert(lw: Lowering, item: Item, source: Layout, target: Layout) -> Item:
    """`item`, held as `source` says, held as `target` says."""
    if source == target:
        return item
    if (source.lanes, source.warps, source.ctas) == (target.lanes, target.warps, target.ctas):
        where = {source.element(r, 0, 0): r for r in reversed(range(source.per_lane))}
        wanted = [target.element(r, 0, 0) for r in range(target.per_lane)]
        if all(element in where for element in wanted):
            return lw.pick(item, [where[element] for element in wanted])
    return _through_memory(lw, item, source, target)


def _through_memory(lw: Lowering, item: Item, source: Layout, target: Layout) -> Item:
    size = lanes.bytes_of(item.kind)
    scratch = lw.scratch(source.numel * size)
    base = lw.base(source)
    for r, width in _runs(source, size):
        offset = _offset(lw, scratch, base, source.element(r, 0, 0), size)
        part = lw.pick(item, range(r, r + width))
        lanes.put(lw, offset, part)
    lw.barrier()
    base = lw.base(target)
    found = []
    for r, width in _runs(target, size):
        offset = _offset(lw, scratch, base, target.element(r, 0, 0), size)
        found.append(lanes.get(lw, offset, item.kind, width))
    return lw.concatenate(found)


def _runs(layout: Layout, size: int) -> list[tuple[int, int]]:
    """First register and length of each run of registers that hold neighbours in memory."""
    width = 1
    for k, image in enumerate(layout.registers):
        if image != 1 << k or width * size >= 16:
            break
        width *= 2
    return [(r, width) for r in range(0, layout.per_lane, width)]


def _offset(lw: Lowering, scratch: str, base: str, constant: int, size: int) -> str:
    flat = lw.b.value(f"xor i32 {base}, {constant}") if constant else base
    moved = lw.b.value(f"mul nuw nsw i32 {flat}, {size}") if size > 1 else flat
    return lw.b.value(f"add nuw nsw i32 {scratch}, {moved}")


def to_shared(
    lw: Lowering, item: Item, source: Layout, target: SharedLayout, value: Value
) -> Item:
    """A block in shared memory of its own, as `target` says, which the asynchronous units may read:
    its byte offset."""
    size = lanes.bytes_of(item.kind)
    place = lw.allocate(source.numel * size, 1024, value)
    lw.barrier()  # whoever reads what lay there has read it
    fill(lw, item, source, target, place)
    if lw.options.capability >= 90:
        lw.proxy_fence()
    lw.barrier()
    return Item(place, ty.int32)


def fill(lw: Lowering, item: Item, source: Layout, target: SharedLayout, offset: str) -> None:
    """Writes every element to its address, as wide as the two layouts allow."""
    size = lanes.bytes_of(item.kind)
    width = widest(source, target, size)
    base = lw.base(source, target.address)
    for access in accesses(source, target, width):
        part = lw.pick(item, [registers[0] for registers in access.registers])
        flat = lw.b.value(f"xor i32 {base}, {access.address}") if access.address else base
        moved = lw.b.value(f"mul nuw nsw i32 {flat}, {size}")
        lanes.put(lw, lw.b.value(f"add nuw nsw i32 {offset}, {moved}"), part)
