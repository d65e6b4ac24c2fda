"""Elements that change places: reversed, put side by side, taken out, laid out.

All dimensions are powers of two, so reversing an axis flips bits of the flat index: the element
wanted lies in a register, a lane and a warp whose numbers differ from one's own by constants.
"""

from __future__ import annotations

from blockstep.compiler import layouts
from blockstep.compiler.layouts import axes, f2
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.convert import ROOM
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout, Operation

_WIDEST = 16  # bytes of one access


@lowers("flip")
def _flip(lw: Lowering, operation: Operation) -> None:
    (x,), (result,) = operation.operands, operation.results
    layout, item = lw.layout(x), lanes.as_bytes(lw, lw[x])
    mask = axes.mask(layout.shape, axes.normal(operation.attributes["axis"], layout.rank))
    register, thread = _distance(layout, mask)
    if thread >> 5:
        item = _other_thread(lw, item, thread)
    elif thread:
        item = lanes.butterfly(lw, item, thread)
    assert item.count is not None
    item = lw.pick(item, [r ^ register for r in range(item.count)])
    lw.bind(result, lanes.from_bytes(lw, item, lw[x].kind))


def _distance(layout: Layout, mask: int) -> tuple[int, int]:
    """The register and the thread that differ from a holder's own where the element differs in
    `mask`: registers alone if they can, else lanes too, else warps."""
    found = f2.Span((*layout.registers, *layout.lanes, *layout.warps)).solve(mask)
    assert found is not None, "every element has a holder"
    count = len(layout.registers)
    return found & ((1 << count) - 1), found >> count


def _other_thread(lw: Lowering, item: Item, distance: int) -> Item:
    """The same registers of the thread whose number differs in the bits of `distance`."""
    assert item.count is not None
    size, threads = lanes.bytes_of(item.kind), 32 * lw.options.num_warps
    width = min(item.count, _WIDEST // size)
    row = threads * width * size
    rows = max(1, min(item.count // width, ROOM // row))  # in each round
    place = lw.scratch(rows * row)
    own = _chunk(lw, place, lw.tid, width * size)
    other = _chunk(lw, place, lw.b.value(f"xor i32 {lw.tid}, {distance}"), width * size)
    found = []
    for first in range(0, item.count // width, rows):
        if first:
            lw.barrier()
        for at in range(rows):
            start = (first + at) * width
            part = lw.pick(item, range(start, start + width))
            lanes.put(lw, lw.plus(own, at * row), part)
        lw.barrier()
        found += [lanes.get(lw, lw.plus(other, at * row), item.kind, width) for at in range(rows)]
    return lw.concatenate(found)


def _chunk(lw: Lowering, place: str, thread: str, size: int) -> str:
    """The byte offset of a thread's first chunk."""
    moved = lw.b.value(f"mul nuw nsw i32 {thread}, {size}")
    return lw.b.value(f"add nuw nsw i32 {place}, {moved}")


@lowers("cat")
def _cat(lw: Lowering, operation: Operation) -> None:
    """The last register bit of the result chooses the operand."""
    lw.bind(operation.results[0], lw.concatenate(lw.operands(operation)))


@lowers("element")
def _element(lw: Lowering, operation: Operation) -> None:
    """A scalar that all lanes have: from one lane of each warp, or from one warp of all."""
    (x,), (result,) = operation.operands, operation.results
    layout, item = lw.layout(x), lw[x]
    wanted = axes.flat(layout.shape, operation.attributes["index"])
    register, thread = _distance(layout, wanted)
    only = Item(lw.parts(lw.pick(item, [register]))[0], item.kind)
    if any(layout.warps):
        only = _from_thread(lw, only, thread)
    elif any(layout.lanes):
        only = lanes.from_lane(lw, only, str(thread))
    lw.bind(result, only)


def _from_thread(lw: Lowering, item: Item, thread: int) -> Item:
    """A value of one thread of the CTA."""
    place = lw.scratch(lanes.bytes_of(item.kind))
    own = lw.b.value(f"icmp eq i32 {lw.tid}, {thread}")
    lanes.guarded(lw, own, lambda: lanes.put(lw, place, item))
    lw.barrier()
    return lanes.get(lw, place, item.kind, None)


@lowers("collect")
def _collect(lw: Lowering, operation: Operation) -> None:
    (result,) = operation.results
    scalars = lw.operands(operation)
    if result.layout is None:
        lw.bind(result, scalars[0])
    else:
        lw.bind(result, laid_out(lw, scalars, lw.layout(result)))


def laid_out(lw: Lowering, scalars: list[Item], layout: Layout) -> Item:
    """Scalars as a block in row-major order: each lane selects its own by the bits of its place."""
    base, moving = lw.base(layout), 0
    for basis in (*layout.lanes, *layout.warps, *layout.ctas):
        moving |= basis
    odd = {
        bit: lw.b.value(f"icmp ne i32 {lw.b.value(f'and i32 {base}, {1 << bit}')}, 0")
        for bit in range(axes.bits_of(len(scalars)))
        if moving >> bit & 1
    }
    parts = []
    for register in range(layout.per_lane):
        constant = layout.element(register, 0, 0)
        left = [scalars[place ^ constant] for place in range(len(scalars))]
        for bit in range(axes.bits_of(len(scalars))):
            left = [
                _either(lw, odd.get(bit), a, b) for a, b in zip(left[1::2], left[::2], strict=True)
            ]
        parts.append(left[0].name)
    return lw.join(parts, scalars[0].kind, layout.per_lane)


def _either(lw: Lowering, condition: str | None, yes: Item, no: Item) -> Item:
    if condition is None:
        return no
    return Item(lw.b.value(f"select i1 {condition}, {yes}, {no}"), no.kind)


@lowers("join")
def _join(lw: Lowering, operation: Operation) -> None:
    """Register bit 0 of the result chooses the operand."""
    a, b = lw.operands(operation)
    (result,) = operation.results
    if a.count is None:
        lw.bind(result, laid_out(lw, [a, b], lw.layout(result)))
        return
    assert lw.layout(result).registers[0] == 1
    mask = ", ".join(f"i32 {i + half * a.count}" for i in range(a.count) for half in (0, 1))
    lw.bind(result, lw.b.value(f"shufflevector {a}, {b}, <{2 * a.count} x i32> <{mask}>"))


@lowers("split")
def _split(lw: Lowering, operation: Operation) -> None:
    (x,) = operation.operands
    halves = layouts.split_registers(lw.layout(x))
    for registers, result in zip(halves, operation.results, strict=True):
        item = lw.pick(lw[x], registers)
        if result.layout is None:
            item = Item(lw.parts(item)[0], item.kind)
        lw.bind(result, item)


@lowers("map_packed")
def _map_packed(lw: Lowering, operation: Operation) -> None:
    """A lane holds whole groups of neighbours, in its lowest register bits."""
    told = operation.attributes
    pack, count = told["pack"], lw.layout(operation.operands[0]).per_lane
    arguments = [
        lw.pick(item, range(slot, count, pack))
        for item in lw.operands(operation)
        for slot in range(pack)
    ]
    values = lw.apply(told["region"], arguments)
    for number, result in enumerate(operation.results):
        group = values[number * pack : (number + 1) * pack]
        joined = lw.concatenate([lw.splat(v, count // pack) for v in group])
        order = [r % pack * (count // pack) + r // pack for r in range(count)]
        lw.bind(result, lw.pick(joined, order))
