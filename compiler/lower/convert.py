"""A block in another layout, the cheapest way: registers renamed, lanes that shuffle, or shared
memory.

What goes through shared memory is stored once, by the first holder of each element, in vectors as
wide as both layouts allow, at addresses swizzled against bank conflicts. Large blocks go in rounds.
"""

from __future__ import annotations

from collections.abc import Callable

from blockstep.compiler import layouts
from blockstep.compiler.layouts import matrices
from blockstep.compiler.layouts.shared import Access, SharedLayout, accesses, cost, widest
from blockstep.compiler.layouts.staging import register_alone
from blockstep.compiler.lower import exchange, lanes
from blockstep.compiler.lower.core import Lowering
from blockstep.compiler.lower.matrices import store as store_matrices
from blockstep.compiler.lower.text import Item
from blockstep.ir import Layout, Value
from blockstep.language import types as ty

ROOM = 1 << 15  # bytes of shared memory that one conversion takes, if it can be done in rounds


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
    """At once, or in rounds if the block is large: a round moves the elements that agree in bits
    which registers alone decide on both sides."""
    size = lanes.bytes_of(item.kind)
    bits = _apart(source, target, chosen.bytes)
    mine, other = Rounds(source, bits), Rounds(target, bits)
    swizzle = layouts.optimal_swizzle(mine.inner, other.inner, size) if bits else chosen.swizzle
    rows = matrices.whole_rows(mine.inner, size, lw.options.capability)
    if rows is not None:
        swizzle = _better(mine.inner, rows, other.inner, swizzle)
    place = lw.scratch(chosen.bytes >> len(bits))
    found = []
    for number in range(1 << len(bits)):
        if number:
            lw.barrier()
        part = lw.pick(item, mine.registers(number))
        store(lw, part, mine.inner, swizzle, widest(mine.inner, swizzle, size), place)
        lw.barrier()
        vector = widest(other.inner, swizzle, size)
        found.append(load(lw, item.kind, other.inner, swizzle, vector, place))
    return lw.pick(lw.concatenate(found), other.places())


def _better(
    source: Layout, rows: matrices.Matrices, target: Layout, known: SharedLayout
) -> SharedLayout:
    """The layout for matrices, if they take no more wavefronts and accesses than vectors."""
    found = layouts.optimal_swizzle(rows.rows, target, matrices.SIZE)
    if not matrices.fits(rows, found):
        return known

    def price(stored: Layout, one: SharedLayout) -> list[int]:
        both = zip(cost(stored, one, matrices.SIZE), cost(target, one, matrices.SIZE), strict=True)
        return [stores + loads for stores, loads in both]

    return found if price(rows.rows, found) <= price(source, known) else known


def _apart(source: Layout, target: Layout, size: int) -> list[int]:
    """Bits of elements that tell rounds apart, the highest first, until a round has room."""
    found: list[int] = []
    for bit in reversed(range(source.numel.bit_length() - 1)):
        if size >> len(found) <= ROOM:
            break
        if all(register_alone(one, 1 << bit) for one in (source, target)):
            found.append(bit)
    return found


class Rounds:
    """A layout in rounds: what is left of it, `inner`, when some bits of elements are fixed."""

    def __init__(self, layout: Layout, bits: list[int]) -> None:
        self._count = layout.per_lane
        self._fixed = [layout.registers.index(1 << bit) for bit in bits]
        self.inner = layout
        for bit in bits:  # the highest first, so those below stay in place
            self.inner = _without(self.inner, bit)

    def registers(self, number: int) -> list[int]:
        """The registers of a round, in the order of those of `inner`."""
        return [r for r in range(self._count) if self._round(r) == number]

    def places(self) -> list[int]:
        """Where each register is when the rounds' registers follow each other."""
        rounds = [self.registers(number) for number in range(1 << len(self._fixed))]
        order = [register for one in rounds for register in one]
        return [order.index(register) for register in range(self._count)]

    def _round(self, register: int) -> int:
        return sum((register >> at & 1) << k for k, at in enumerate(self._fixed))


def _without(layout: Layout, bit: int) -> Layout:
    """The layout of the half in which a bit of elements, a register bit alone, is 0."""
    low = (1 << bit) - 1

    def squeezed(bases: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(b >> bit + 1 << bit | b & low for b in bases if b != 1 << bit)

    return Layout(
        (layout.numel // 2,),
        *map(squeezed, (layout.registers, layout.lanes, layout.warps, layout.ctas)),
    )


def store(
    lw: Lowering, item: Item, source: Layout, shared: SharedLayout, vector: int, place: str
) -> None:
    """Every element to its address, by the first of its holders: as matrices if that is possible,
    else `vector` of them at once."""
    rows = matrices.whole_rows(source, lanes.bytes_of(item.kind), lw.options.capability)
    if rows is not None and vector < matrices.ROW and matrices.fits(rows, shared):
        store_matrices(lw, item, rows, shared, place)
        return
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

    lanes.guarded(lw, lw.first_holder(source), write)


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
