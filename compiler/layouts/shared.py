"""How a block lies in shared memory, and what it costs to get it there and back.

`SharedLayout` itself, a bijective linear map over F2 from addresses, counted in elements, to flat
elements, is in blockstep/ir/layout.py. Swizzles XOR the 16-byte chunk of an address with bits of its row. Costs follow the
memory's rule: 32 banks of 4 bytes; an access of 4 bytes per lane or fewer is served in one
wavefront, of 8 in two (16 lanes each), of 16 in four, and lanes that want different words of one
bank need one more wavefront each. Lanes that want the same word share it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from blockstep.compiler.layouts import axes, f2
from blockstep.compiler.layouts.linear import ByLane
from blockstep.ir.layout import Layout, SharedLayout, images, rank

BANKS = 32
WORD = 4  # bytes of one bank
WIDEST = 16  # bytes of the widest access of one lane
WIDEST_BOX = 256  # elements of a box of the copy engine along one axis


def _axis_addresses(shape: Sequence[int], axis: int) -> list[int]:
    """The elements 1, 2, 4, … steps along an axis from the origin."""
    return [axes.along(shape, axis, 1 << bit) for bit in range(axes.bits_of(shape[axis]))]


def row_major(shape: Sequence[int], order: Sequence[int]) -> SharedLayout:
    """No swizzle: the axes one inside the other, `order[0]` the fastest."""
    addresses = [element for axis in order for element in _axis_addresses(shape, axis)]
    return SharedLayout(tuple(shape), tuple(addresses))


def swizzled(
    shape: Sequence[int], order: Sequence[int], vec: int, per_phase: int, max_phase: int
) -> SharedLayout:
    """Rows along `order[0]` in which group `g` of `vec` elements lies at group
    g ^ (row // per_phase % max_phase), a row being a step along `order[1]`.

    Raises ValueError if a row has fewer than `max_phase` groups."""
    columns, rows = order[0], order[1]
    if vec * max_phase > shape[columns]:
        raise ValueError(f"{max_phase} groups of {vec} do not fit a row of {shape[columns]}")
    addresses = _axis_addresses(shape, columns)
    for bit, element in enumerate(_axis_addresses(shape, rows)):
        phase = (1 << bit) // per_phase % max_phase
        addresses.append(element ^ axes.along(shape, columns, phase * vec))
    for axis in order[2:]:
        addresses += _axis_addresses(shape, axis)
    return SharedLayout(tuple(shape), tuple(addresses))


def swizzle_128b(
    shape: Sequence[int], order: Sequence[int], itemsize: int, width: int = 128
) -> SharedLayout:
    """The tiles of TMA and wgmma: boxes [columns / w][rows][width bytes], w elements in a box's
    row, where address bits 4–6 are XORed with bits 7–9 (of the bytes; for a width of 64 bits 4–5
    with 7–8, for 32 bit 4 with bit 7). `order[0]` is the axis along a row, `order[1]` the rows,
    and whole matrices follow each other along the others.

    Raises ValueError if a row is shorter than `width` bytes, or no such swizzle exists."""
    if width not in (32, 64, 128):
        raise ValueError(f"there is no swizzle of {width} bytes")
    columns, rows = order[0], order[1]
    in_box = width // itemsize
    if shape[columns] < in_box:
        raise ValueError(f"a row of {shape[columns] * itemsize} bytes has no swizzle of {width}")
    row = _axis_addresses(shape, columns)
    near, far = row[: axes.bits_of(in_box)], row[axes.bits_of(in_box) :]
    straight = [*near, *_axis_addresses(shape, rows), *far]
    for axis in order[2:]:
        straight += _axis_addresses(shape, axis)
    chunk, atom_row = axes.bits_of(16 // itemsize), axes.bits_of(128 // itemsize)
    # The hardware looks at addresses, not rows: of a box of fewer rows the next box's bits count.
    for bit in range(min(axes.bits_of(width // 16), max(0, len(straight) - atom_row))):
        straight[atom_row + bit] ^= straight[chunk + bit]
    return SharedLayout(tuple(shape), tuple(straight))


def boxes(shape: Sequence[int], itemsize: int, width: int) -> SharedLayout:
    """How the copy engine reads a block of any rank: boxes [columns / w][rows][w], the columns being
    the last axis and the rows all others, swizzled as `swizzle_128b` says; without a swizzle (`width`
    0) w is as long as a box can be."""
    columns = shape[-1]
    in_box = width // itemsize if width else min(columns, WIDEST_BOX)
    row = [1 << bit for bit in range(axes.bits_of(columns))]
    rows = axes.bits_of(math.prod(shape[:-1]))
    near, far = row[: axes.bits_of(in_box)], row[axes.bits_of(in_box) :]
    straight = [*near, *(columns << bit for bit in range(rows)), *far]
    chunk, atom_row = axes.bits_of(WIDEST // itemsize), axes.bits_of(BANKS * WORD // itemsize)
    swizzle = axes.bits_of(width // WIDEST) if width else 0
    for bit in range(min(swizzle, max(0, len(straight) - atom_row))):
        straight[atom_row + bit] ^= straight[chunk + bit]
    return SharedLayout(tuple(shape), tuple(straight))


@dataclass(frozen=True, slots=True)
class Access:
    """One vector load or store of a lane."""

    address: int
    """The registers' part of the first address, in elements: XOR it with `lane_addresses`."""
    registers: tuple[tuple[int, ...], ...]
    """For each element of the vector, the registers that hold it: a store takes the first, a
    load fills all."""


def widest(layout: Layout, shared: SharedLayout, itemsize: int) -> int:
    """The most elements (a power of two, up to 16 bytes) that a lane can load or store at once."""
    span = f2.Span(f2.compose(shared.addresses, layout.registers))
    others = f2.compose(shared.addresses, layout.lanes + layout.warps + layout.ctas)
    bits = 0
    while (itemsize << bits + 1) <= WIDEST and 1 << bits in span:
        if any(address >> bits & 1 for address in others):
            break
        bits += 1
    return 1 << bits


def accesses(layout: Layout, shared: SharedLayout, vector: int) -> tuple[Access, ...]:
    """The loads or stores, of `vector` elements each, that move all registers of a lane.

    Raises ValueError if the registers do not hold whole vectors."""
    registers = f2.compose(shared.addresses, layout.registers)
    others = f2.compose(shared.addresses, layout.lanes + layout.warps + layout.ctas)
    found: dict[int, list[list[int]]] = {}
    for register, address in enumerate(images(registers)):
        slots = found.setdefault(address & -vector, [[] for _ in range(vector)])
        slots[address % vector].append(register)
    whole = all(all(slots) for slots in found.values())
    if not whole or any(address % vector for address in others):
        raise ValueError(f"the lanes of {layout} do not hold vectors of {vector} elements")
    return tuple(Access(at, tuple(map(tuple, slots))) for at, slots in found.items())


def lane_addresses(layout: Layout, shared: SharedLayout) -> ByLane:
    """The part of an address, in elements, that the lane, the warp and the CTA decide: where the
    element of register 0 lies."""
    return ByLane(
        f2.compose(shared.addresses, layout.lanes),
        f2.compose(shared.addresses, layout.warps),
        f2.compose(shared.addresses, layout.ctas),
    )


def lane_bits_at_once(size: int) -> int:
    """How many lane bits one wavefront serves, if each lane accesses `size` bytes."""
    return 5 - axes.bits_of(max(size, WORD) // WORD)


def wavefronts(addresses: Sequence[int], size: int) -> int:
    """The wavefronts of one access of a warp, given each lane's byte address and size."""
    together = 1 << lane_bits_at_once(size)
    return sum(
        _wavefronts_at_once(addresses[first : first + together], size)
        for first in range(0, len(addresses), together)
    )


def _wavefronts_at_once(addresses: Sequence[int], size: int) -> int:
    words: dict[int, set[int]] = {}
    for address in addresses:
        for word in range(address // WORD, (address + size - 1) // WORD + 1):
            words.setdefault(word % BANKS, set()).add(word)
    return max(map(len, words.values()))


def bank_conflicts(layout: Layout, shared: SharedLayout, itemsize: int, vector: int) -> int:
    """How many wavefronts an access of a warp takes beyond the fewest its size allows.

    All accesses of all warps take equally many: their addresses differ from the first one's by an
    XOR, which maps banks to banks. Raises ValueError for accesses of more than 16 bytes."""
    size = itemsize * vector
    if size > WIDEST:
        raise ValueError(f"no lane accesses {size} bytes at once")
    lanes = f2.compose(shared.addresses, layout.lanes)
    taken = wavefronts([itemsize * image for image in images(lanes)], size)
    return taken - (32 >> lane_bits_at_once(size))


def cost(layout: Layout, shared: SharedLayout, itemsize: int) -> tuple[int, int]:
    """The wavefronts that a warp's loads or stores of all its elements take, and how many
    accesses they are."""
    vector = widest(layout, shared, itemsize)
    ideal = 32 >> lane_bits_at_once(itemsize * vector)
    count = (1 << rank(layout.registers)) // vector
    return count * (ideal + bank_conflicts(layout, shared, itemsize, vector)), count


__all__ = [
    "Access",
    "SharedLayout",
    "accesses",
    "bank_conflicts",
    "boxes",
    "cost",
    "lane_addresses",
    "row_major",
    "swizzle_128b",
    "swizzled",
    "wavefronts",
    "widest",
]
