"""Elements picked by an index, and counted by value: through shared memory.

Indices outside of the axis have no defined result; they read the nearest element.
"""

from __future__ import annotations

from blockstep.compiler import layouts
from blockstep.compiler.layouts import axes
from blockstep.compiler.layouts.shared import SharedLayout, widest
from blockstep.compiler.lower import cast, convert, lanes
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout, Operation
from blockstep.language import types as ty


def _straight(shape: tuple[int, ...]) -> SharedLayout:
    """Row-major, without a swizzle: an address that is computed as it goes needs none."""
    return layouts.row_major(shape, tuple(reversed(range(len(shape)))))


@lowers("gather")
def _gather(lw: Lowering, operation: Operation) -> None:
    x, index = operation.operands
    source, layout = lw.layout(x), lw.layout(index)
    axis = axes.normal(operation.attributes["axis"], source.rank)
    item = lanes.as_bytes(lw, lw[x])
    size = lanes.bytes_of(item.kind)
    shared = _straight(source.shape)
    place = lw.scratch(source.numel * size)
    convert.store(lw, item, source, shared, widest(source, shared, size), place)
    lw.barrier()
    along = lw.parts(_inside(lw, lw[index], source.shape[axis]))
    base, parts = lw.base(layout, lambda e: _beside(layout, source, axis, e)), []
    for register, chosen in enumerate(along):
        constant = _beside(layout, source, axis, layout.element(register, 0, 0))
        flat = lw.b.value(f"xor i32 {base}, {constant}") if constant else base
        moved = lw.b.value(f"shl i32 {chosen}, {axes.shift(source.shape, axis)}")
        flat = lw.b.value(f"or i32 {flat}, {moved}")
        moved = lw.b.value(f"mul nuw nsw i32 {flat}, {size}")
        offset = lw.b.value(f"add nuw nsw i32 {place}, {moved}")
        parts.append(lanes.get(lw, offset, item.kind, None).name)
    found = lw.join(parts, item.kind, layout.per_lane)
    lw.bind(operation.results[0], lanes.from_bytes(lw, found, lw[x].kind))


def _beside(layout: Layout, source: Layout, axis: int, element: int) -> int:
    """Where the row of an element of the index begins in the source."""
    place = list(axes.coordinates(layout.shape, element))
    place[axis] = 0
    return axes.flat(source.shape, place)


def _wide(lw: Lowering, item: Item) -> Item:
    """An integer of 32 or 64 bits of the same value."""
    if item.kind.primitive_bitwidth >= 32:
        return item
    wide = ty.int32 if item.kind.is_int_signed() and not item.kind.is_int1() else ty.uint32
    return cast.convert(lw, item, wide)


def _inside(lw: Lowering, index: Item, length: int) -> Item:
    """The nearest place in 0 … length - 1, in 32 bits."""
    index = _wide(lw, index)
    last = lw.constant(length - 1, index.kind, index.count)
    if index.kind.is_int_signed():
        zero = lw.constant(0, index.kind, index.count)
        low = lw.b.value(f"icmp sgt {index}, {zero.name}")
        name = lw.b.value(f"select {_bits(index)} {low}, {index}, {zero}")
        index = Item(name, index.kind, index.count)
    high = lw.b.value(f"icmp ult {index}, {last.name}")
    name = lw.b.value(f"select {_bits(index)} {high}, {index}, {last}")
    return cast.convert(lw, Item(name, index.kind, index.count), ty.uint32)


def _bits(like: Item) -> str:
    return Item("", ty.int1, like.count).type


@lowers("histogram")
def _histogram(lw: Lowering, operation: Operation) -> None:
    (result,) = operation.results
    bins, target = operation.attributes["bins"], lw.layout(result)
    shared = _straight((bins,))
    place = lw.scratch(bins * 4)
    start = layouts.coalesced((bins,), (0,), 4, lw.options.num_warps)
    zeros = lw.constant(0, ty.int32, start.per_lane)
    convert.store(lw, zeros, start, shared, widest(start, shared, 4), place)
    lw.barrier()
    _count(lw, operation, bins, lw.shared_address(place))
    lw.barrier()
    vector = widest(target, shared, 4)
    lw.bind(result, convert.load(lw, ty.int32, target, shared, vector, place))


def _count(lw: Lowering, operation: Operation, bins: int, address: str) -> None:
    """One atomic increment for each element that counts."""
    told = lw.named(operation, "x", "mask")
    x, mask = told["x"], told["mask"]
    assert x is not None
    layout, values = lw.layout(x), _wide(lw, lw[x])
    most = lw.constant(bins, values.kind, values.count)
    counts = Item(lw.b.value(f"icmp ult {values}, {most.name}"), ty.int1, values.count)
    if mask is not None:
        counts = Item(lw.b.value(f"and {counts}, {lw[mask].name}"), ty.int1, values.count)
    leader, copies = lw.first_holder(layout), layouts.redundant(layout).registers
    bits = lw.parts(counts)
    for register, value in enumerate(lw.parts(cast.convert(lw, values, ty.uint32))):
        if register & copies:
            continue
        on = bits[register]
        if leader != "true":
            on = lw.b.value(f"and i1 {leader}, {on}")
        moved = lw.b.value(f"shl i32 {value}, 2")
        where = lw.b.value(f"add i32 {address}, {moved}")
        text = "@$1 red.shared.add.u32 [$0], 1;"
        lw.b.asm("void", text, "r,b,~{memory}", [f"i32 {where}", f"i1 {on}"])
