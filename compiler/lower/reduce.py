"""Reductions along an axis: inside a lane, between the lanes of a warp, between warps.

Every basis of the operand's layout lies along the axis or off it. The combine function is any region
of scalars; it is applied to vectors of partial results, halves at a time.
"""

from __future__ import annotations

from blockstep.compiler.layouts import drop_axis
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout, Operation
from blockstep.language.region import Region

_COMMUTATIVE = frozenset({"add", "mul", "and", "or", "xor", "minimum", "maximum"})


@lowers("reduce")
def _reduce(lw: Lowering, operation: Operation) -> None:
    layout = lw.layout(operation.operands[0])
    axis = len(layout.shape) + operation.attributes["axis"]
    region = operation.attributes["region"]
    items = _in_lane(lw, region, lw.operands(operation), layout, axis)
    items = _in_warp(lw, region, items, layout, axis)
    items = _between_warps(lw, region, items, layout, axis)
    for result, item in zip(operation.results, items, strict=True):
        if result.layout is None:
            item = Item(lw.parts(item)[0], item.kind)
        lw.bind(result, item)


def along(layout: Layout, axis: int, image: int) -> int:
    """The coordinate of a flat index along an axis."""
    below = 1
    for n in layout.shape[axis + 1 :]:
        below *= n
    return image // below % layout.shape[axis]


def _in_lane(
    lw: Lowering, region: Region, items: list[Item], layout: Layout, axis: int
) -> list[Item]:
    """Halves along each register bit of the axis; copies are left out."""
    bits = list(layout.registers)
    for k in reversed(range(len(bits))):
        if bits[k] and not along(layout, axis, bits[k]):
            continue
        count = 1 << len(bits)
        lows = [lw.pick(i, [r for r in range(count) if not r >> k & 1]) for i in items]
        highs = [lw.pick(i, [r for r in range(count) if r >> k & 1]) for i in items]
        items = lw.apply(region, [*lows, *highs]) if bits[k] else lows
        del bits[k]
    return items


def _in_warp(
    lw: Lowering, region: Region, items: list[Item], layout: Layout, axis: int
) -> list[Item]:
    """Pairs of lanes, for each lane bit along the axis. Both of a pair combine in one order, so that
    they hold the same even where the order matters (a maximum's place among equals)."""
    for k, image in enumerate(layout.lanes):
        if along(layout, axis, image):
            others = [lanes.butterfly(lw, item, 1 << k) for item in items]
            if not _commutes(region):
                items, others = _in_order(lw, items, others, 1 << k)
            items = lw.apply(region, [*items, *others])
    return items


def _commutes(region: Region) -> bool:
    """Whether a function of two scalars is certainly the same for both orders: it is one operation
    that is."""
    only = region.single
    return only is not None and only.op.name in _COMMUTATIVE


def _in_order(
    lw: Lowering, mine: list[Item], others: list[Item], bit: int
) -> tuple[list[Item], list[Item]]:
    """What the lower lane of each pair holds, and the upper one."""
    own = lw.b.value(f"and i32 {lw.lane}, {bit}")
    upper = lw.b.value(f"icmp ne i32 {own}, 0")

    def chosen(a: Item, b: Item) -> Item:
        return Item(lw.b.value(f"select i1 {upper}, {a}, {b}"), a.kind, a.count)

    pairs = list(zip(mine, others, strict=True))
    return [chosen(b, a) for a, b in pairs], [chosen(a, b) for a, b in pairs]


def _between_warps(
    lw: Lowering, region: Region, items: list[Item], layout: Layout, axis: int
) -> list[Item]:
    """Each warp's part to shared memory, one row an element that is left; then every lane reads
    the rows of its own elements."""
    moving = [k for k, image in enumerate(layout.warps) if along(layout, axis, image)]
    if not moving:
        return items
    kept = drop_axis(layout, axis)
    row = 1 << len(moving)
    sizes = [lanes.bytes_of(item.kind) for item in items]
    starts, total = [], 0
    for size in sizes:
        starts.append(total)
        total += -(-kept.numel * row * size // 16) * 16
    scratch = lw.scratch(total)
    base = lw.base(kept)
    place = lw.thread_bits([(lw.warp, k, 1 << i) for i, k in enumerate(moving)])
    leader = _writes(lw, layout, axis)
    registers = _own_registers(kept)

    def write() -> None:
        for item, size, start in zip(items, sizes, starts, strict=True):
            for r in registers:
                at = _row(lw, scratch, base, kept.element(r, 0, 0), row, size, start)
                moved = lw.b.value(f"mul nuw nsw i32 {place}, {size}")
                lanes.put(lw, lw.b.value(f"add nuw nsw i32 {at}, {moved}"), lw.pick(item, [r]))

    lanes.guarded(lw, leader, write)
    lw.barrier()
    found = []
    for item, size, start in zip(items, sizes, starts, strict=True):
        rows = []
        for r in range(kept.per_lane):
            at = _row(lw, scratch, base, kept.element(r, 0, 0), row, size, start)
            rows.append(_read_row(lw, at, item, row, size))
        found.append(rows)
    return _combined(lw, region, found, row)


def _combined(lw: Lowering, region: Region, found: list[list[Item]], row: int) -> list[Item]:
    """Rows of parts, halves at a time, for all elements of the lane at once."""
    items = [lw.concatenate(rows) for rows in found]
    count = items[0].count
    assert count is not None
    while row > 1:
        half = row // 2
        low = [i for i in range(count) if i % row < half]
        high = [i for i in range(count) if i % row >= half]
        lows = [lw.pick(item, low) for item in items]
        highs = [lw.pick(item, high) for item in items]
        items = lw.apply(region, [*lows, *highs])
        row, count = half, count // 2
    return items


def _read_row(lw: Lowering, offset: str, item: Item, row: int, size: int) -> Item:
    """The parts of one element, 16 bytes at a time."""
    width = min(row, 16 // size)
    pieces = []
    for i in range(0, row, width):
        at = lw.b.value(f"add nuw nsw i32 {offset}, {i * size}") if i else offset
        pieces.append(lanes.get(lw, at, item.kind, width))
    return lw.concatenate(pieces)


def _row(
    lw: Lowering, scratch: str, base: str, constant: int, row: int, size: int, start: int
) -> str:
    flat = lw.b.value(f"xor i32 {base}, {constant}") if constant else base
    moved = lw.b.value(f"mul nuw nsw i32 {flat}, {row * size}")
    found = lw.b.value(f"add nuw nsw i32 {scratch}, {moved}")
    return lw.b.value(f"add nuw nsw i32 {found}, {start}") if start else found


def _own_registers(kept: Layout) -> list[int]:
    """Registers that are no copies of a lower one."""
    zeros = sum(1 << k for k, image in enumerate(kept.registers) if image == 0)
    return [r for r in range(kept.per_lane) if not r & zeros]


def _writes(lw: Lowering, layout: Layout, axis: int) -> str:
    """Whether this lane is the first of those that hold the same part."""
    lane_bits = sum(1 << k for k, v in enumerate(layout.lanes) if v == 0 or along(layout, axis, v))
    warp_bits = sum(1 << k for k, v in enumerate(layout.warps) if v == 0)
    mask = lane_bits | warp_bits << 5
    if not mask:
        return "true"
    found = lw.b.value(f"and i32 {lw.tid}, {mask}")
    return lw.b.value(f"icmp eq i32 {found}, 0")
