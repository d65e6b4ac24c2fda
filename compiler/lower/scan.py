"""Scans along an axis: inside a lane, then the lanes' totals, then the warps'.

Registers, lanes and warps walk along the axis in this order, in steps of 1, 2, 4, … (see
`placement.wishes.is_ordered`), so what a lane holds along the axis lies side by side, and so does
what a warp holds. The combine function is any region: what comes before stands on the left.
A reversed scan is the same with the ends exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from blockstep.compiler.layouts import axes, drop_axis
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering, lowers
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout, Operation
from blockstep.ir.layout import xor
from blockstep.language.region import Region

Items = list[Item]
"""One for each operand of the scan."""


@dataclass
class Prefix:
    """What is combined before this lane's part, and whether there is anything: an i1."""

    items: Items
    exists: str


@lowers("scan")
def _scan(lw: Lowering, operation: Operation) -> None:
    layout = lw.layout(operation.operands[0])
    axis = axes.normal(operation.attributes["axis"], layout.rank)
    told = operation.attributes
    scan = _Scan(lw, told["region"], layout, axis, told.get("reverse", False))
    lw.results(operation, scan.run(lw.operands(operation)))


@dataclass
class _Scan:
    lw: Lowering
    region: Region
    layout: Layout
    axis: int
    reverse: bool

    def run(self, items: Items) -> Items:
        columns = self._in_lane([self._column(items, p) for p in range(1 << len(self.steps))])
        before = self._before(columns[-1])
        if before is not None:
            columns = [self._after(before, column) for column in columns]
        return [self._registers([c[i] for c in columns]) for i in range(len(items))]

    # ---- which bits walk along the axis

    def _along(self, bases: tuple[int, ...]) -> list[int]:
        """Positions of the bits along the axis, the smallest step first."""
        mask = axes.mask(self.layout.shape, self.axis)
        return sorted((k for k, b in enumerate(bases) if b & mask), key=lambda k: bases[k])

    @cached_property
    def steps(self) -> list[int]:
        """Register bits along the axis."""
        return self._along(self.layout.registers)

    @cached_property
    def across(self) -> list[int]:
        """Register bits off the axis that are no copies."""
        bases = self.layout.registers
        return [k for k, basis in enumerate(bases) if basis and k not in self.steps]

    # ---- inside a lane

    def _column(self, items: Items, place: int) -> Items:
        """The elements at the `place`-th step of this lane, in the direction of the scan."""
        if self.reverse:
            place = (1 << len(self.steps)) - 1 - place
        chosen = [self._register(place, other) for other in range(1 << len(self.across))]
        return [self.lw.pick(item, chosen) for item in items]

    def _register(self, place: int, other: int) -> int:
        return xor([1 << k for k in self.steps], place) | xor([1 << k for k in self.across], other)

    def _in_lane(self, columns: list[Items]) -> list[Items]:
        for place in range(1, len(columns)):
            columns[place] = self._combine(columns[place - 1], columns[place])
        return columns

    def _combine(self, left: Items, right: Items) -> Items:
        return self.lw.apply(self.region, [*left, *right])

    def _registers(self, columns: Items) -> Item:
        """The columns as the registers of the layout, copies included."""
        if self.reverse:
            columns = columns[::-1]
        width = 1 << len(self.across)
        where = []
        for register in range(self.layout.per_lane):
            place = sum((register >> k & 1) << i for i, k in enumerate(self.steps))
            other = sum((register >> k & 1) << i for i, k in enumerate(self.across))
            where.append(place * width + other)
        return self.lw.pick(self.lw.concatenate(columns), where)

    # ---- before a lane

    def _before(self, totals: Items) -> Prefix | None:
        """What comes before the lane: the warps before its warp, then the lanes before it."""
        in_warp = self._lanes_before(totals)
        bits = self._along(self.layout.warps)
        if not bits:
            return in_warp[0]
        before, whole = in_warp
        between = self._warps_before(whole, bits)
        if before is None:
            return between
        both = self._combine(between.items, before.items)
        joined = self._choose(between.exists, both, before.items)
        items = self._choose(before.exists, joined, between.items)
        exists = self.lw.b.value(f"or i1 {between.exists}, {before.exists}")
        return Prefix(items, exists)

    def _lanes_before(self, totals: Items) -> tuple[Prefix | None, Items]:
        """The prefix of the lanes before this one, and each lane's own included."""
        bits = self._along(self.layout.lanes)
        if not bits:
            return None, totals
        lw, below = self.lw, 0
        for k in bits:
            totals = self._lane_step(totals, 1 << k, below)
            below |= 1 << k
        source = self._neighbour(below)
        return Prefix([lanes.from_lane(lw, i, source) for i in totals],
                      self._has_before(lw.lane, below)), totals  # fmt: skip

    def _lane_step(self, totals: Items, bit: int, below: int) -> Items:
        """Lanes in the later half of each pair of runs take in the last lane of the earlier."""
        lw = self.lw
        if self.reverse:
            source = lw.b.value(f"and i32 {lw.lane}, {31 & ~below}")
            source = lw.b.value(f"or i32 {source}, {bit}")
        else:
            source = lw.b.value(f"and i32 {lw.lane}, {31 & ~bit}")
            source = lw.b.value(f"or i32 {source}, {below}")
        earlier = [lanes.from_lane(lw, item, source) for item in totals]
        later = self._has_before(lw.lane, bit)
        return self._choose(later, self._combine(earlier, totals), totals)

    def _neighbour(self, mask: int) -> str:
        """The lane just before this one along the axis, whose lane bits are `mask`."""
        b, lane = self.lw.b, self.lw.lane
        if self.reverse:
            filled = b.value(f"or i32 {lane}, {31 & ~mask}")
            moved = b.value(f"add i32 {filled}, 1")
        else:
            own = b.value(f"and i32 {lane}, {mask}")
            moved = b.value(f"sub i32 {own}, 1")
        along = b.value(f"and i32 {moved}, {mask}")
        off = b.value(f"and i32 {lane}, {31 & ~mask}")
        return b.value(f"or i32 {along}, {off}")

    def _has_before(self, number: str, mask: int) -> str:
        """Whether the bits of a lane or warp number are not those of the first."""
        b = self.lw.b
        own = b.value(f"and i32 {number}, {mask}")
        return b.value(f"icmp ne i32 {own}, {mask if self.reverse else 0}")

    def _choose(self, condition: str, yes: Items, no: Items) -> Items:
        b = self.lw.b
        return [
            Item(b.value(f"select i1 {condition}, {y}, {n}"), n.kind, n.count)
            for y, n in zip(yes, no, strict=True)
        ]

    def _after(self, before: Prefix, column: Items) -> Items:
        return self._choose(before.exists, self._combine(before.items, column), column)

    # ---- between warps

    def _warps_before(self, whole: Items, bits: list[int]) -> Prefix:
        """The totals of the warps before this one, through shared memory."""
        lw, mask = self.lw, sum(1 << k for k in bits)
        rows = _Rows(lw, drop_axis(self.layout, self.axis), whole, len(bits))
        own = lw.thread_bits([(lw.warp, k, 1 << i) for i, k in enumerate(bits)])
        lanes.guarded(lw, self._last_of_warp(), lambda: rows.write(whole, own))
        lw.barrier()
        totals = rows.read(whole)
        if self.reverse:
            totals = totals[::-1]
        running = found = totals[0]
        for place, total in enumerate(totals[1:-1], start=1):
            number = len(totals) - 1 - place if self.reverse else place
            running = self._combine(running, total)
            compare = "ult" if self.reverse else "ugt"
            taken = lw.b.value(f"icmp {compare} i32 {own}, {number}")
            found = self._choose(taken, running, found)
        return Prefix(found, self._has_before(lw.warp, mask))

    def _last_of_warp(self) -> str:
        """Whether this lane holds its warp's totals: of copies, the first."""
        lw = self.lw
        along = sum(1 << k for k in self._along(self.layout.lanes))
        copies = sum(1 << k for k, basis in enumerate(self.layout.lanes) if not basis)
        warps = sum(1 << k for k, basis in enumerate(self.layout.warps) if not basis)
        mask = along | copies | warps << 5
        if not mask:
            return "true"
        own = lw.b.value(f"and i32 {lw.tid}, {mask}")
        return lw.b.value(f"icmp eq i32 {own}, {0 if self.reverse else along}")


class _Rows:
    """Shared memory with a row for each element off the axis: one value for each warp along it."""

    def __init__(self, lw: Lowering, kept: Layout, items: Items, bits: int) -> None:
        self.lw, self.kept, self.length = lw, kept, 1 << bits
        self.starts, total = [], 0
        for item in items:
            self.starts.append(total)
            total += -(-kept.numel * self.length * lanes.bytes_of(item.kind) // 16) * 16
        self.scratch = lw.scratch(total)
        self.base = lw.base(kept)

    def write(self, items: Items, place: str) -> None:
        """This warp's values, at a place in the rows."""
        b = self.lw.b
        for item, start in zip(items, self.starts, strict=True):
            size = lanes.bytes_of(item.kind)
            moved = b.value(f"mul nuw nsw i32 {place}, {size}")
            for register in range(self.kept.per_lane):
                offset = b.value(f"add nuw nsw i32 {self._row(register, size, start)}, {moved}")
                lanes.put(self.lw, offset, self.lw.pick(item, [register]))

    def read(self, like: Items) -> list[Items]:
        """The values of each warp along the axis."""
        found: list[Items] = [[] for _ in range(self.length)]
        for item, start in zip(like, self.starts, strict=True):
            size, count = lanes.bytes_of(item.kind), self.kept.per_lane
            rows = [self._whole(item, self._row(r, size, start), size) for r in range(count)]
            joined = self.lw.concatenate(rows)
            for place, items in enumerate(found):
                chosen = [register * self.length + place for register in range(count)]
                items.append(self.lw.pick(joined, chosen))
        return found

    def _whole(self, like: Item, offset: str, size: int) -> Item:
        """A row, 16 bytes at a time."""
        width = min(self.length, 16 // size)
        return self.lw.concatenate([
            lanes.get(self.lw, self.lw.plus(offset, first * size), like.kind, width)
            for first in range(0, self.length, width)
        ])  # fmt: skip

    def _row(self, register: int, size: int, start: int) -> str:
        b, constant = self.lw.b, self.kept.element(register, 0, 0)
        flat = b.value(f"xor i32 {self.base}, {constant}") if constant else self.base
        moved = b.value(f"mul nuw nsw i32 {flat}, {self.length * size}")
        found = b.value(f"add nuw nsw i32 {self.scratch}, {moved}")
        return self.lw.plus(found, start)
