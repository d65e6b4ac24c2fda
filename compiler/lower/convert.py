"""A block in another layout, the cheapest way: registers renamed, lanes that shuffle, or shared
memory.

What goes through shared memory is stored once, by the first holder of each element, in vectors as
wide as both layouts allow, at addresses swizzled against bank conflicts.
"""

from __future__ import annotations

from collections.abc import Callable

from blockstep.compiler import layouts
from blockstep.compiler.layouts.shared import Access, SharedLayout, accesses, widest
from blockstep.compiler.lower import exchange, lanes
from blockstep.compiler.lower.core import Lowering
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout, Value
from blockstep.language import types as ty


def convert(lw: Lowering, item: Item, source: Layout, target: Layout) -> Item:
    """`item`, held as `source` says, held as `target` says."""
    if source == target:
        return item
    chosen = layouts.plan(source, target, lanes.bytes_of(item.kind))
    if isinstance(chosen, layouts.Nothing):
        return item
    if isinstance(chosen, layouts.Registers):
        return lw.pick(item, chosen.permutation)
    moved = lanes.as_bytes(lw, item)
    if isinstance(chosen, layouts.Shuffle):
        found = exchange.by_shuffles(lw, moved, chosen)
    else:
        found = _through_memory(lw, moved, source, target, chosen)
    return lanes.from_bytes(lw, found, item.kind)


def _through_memory(
    lw: Lowering, item: Item, source: Layout, target: Layout, chosen: layouts.Shared
) -> Item:
    place = lw.scratch(chosen.bytes)
    store(lw, item, source, chosen.swizzle, chosen.store_vector, place)
    lw.barrier()
    return load(lw, item.kind, target, chosen.swizzle, chosen.load_vector, place)


def store(
    lw: Lowering, item: Item, source: Layout, shared: SharedLayout, vector: int, place: str
) -> None:
    """Every element to its address, `vector` of them at once, by the first of its holders."""
    address = _addresses(lw, source, shared, lanes.bytes_of(item.kind), place)
    copies = layouts.redundant(source).registers
    needed = [
        access for access in accesses(source, shared, vector)
        if any(not register & copies for slot in access.registers for register in slot)
    ]  # fmt: skip

    def write() -> None:
        for access in needed:
            part = lw.pick(item, [registers[0] for registers in access.registers])
            lanes.put(lw, address(access), part)

    lanes.guarded(lw, lw.leaders(source), write)


def load(
    lw: Lowering, kind: ty.dtype, target: Layout, shared: SharedLayout, vector: int, place: str
) -> Item:
    """Every element of a block in shared memory that a lane holds, `vector` of them at once."""
    address = _addresses(lw, target, shared, lanes.bytes_of(kind), place)
    pieces, where = [], [0] * target.per_lane
    for number, access in enumerate(accesses(target, shared, vector)):
        pieces.append(lanes.get(lw, address(access), kind, vector))
        for slot, registers in enumerate(access.registers):
            for register in registers:
                where[register] = number * vector + slot
    return lw.pick(lw.concatenate(pieces), where)


def _addresses(
    lw: Lowering, layout: Layout, shared: SharedLayout, size: int, place: str
) -> Callable[[Access], str]:
    """The byte offset of each access. Bits of the access that the thread's part never has are an
    immediate; the others are XORed, once for all accesses that share them."""
    moving = 0
    for basis in (*layout.lanes, *layout.warps, *layout.ctas):
        moving |= shared.address(basis)
    base = lw.base(layout, lambda element: shared.address(element) * size)
    turned: dict[int, str] = {}

    def of(access: Access) -> str:
        common = access.address & moving
        if common not in turned:
            own = lw.plus(base, common * size, disjoint=False)
            turned[common] = lw.b.value(f"add nuw nsw i32 {place}, {own}")
        return lw.plus(turned[common], (access.address ^ common) * size)

    return of


def to_shared(lw: Lowering, item: Item, source: Layout, target: SharedLayout, value: Value) -> Item:
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
    vector = widest(source, target, lanes.bytes_of(item.kind))
    store(lw, lanes.as_bytes(lw, item), source, target, vector, offset)
