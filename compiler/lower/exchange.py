"""Elements that move between the lanes of a warp, as a plan of shuffles says.

Where a lane's number decides which register it offers or fills, registers are exchanged inside the
lane first, or afterwards: one select of all registers for each independent bit of that number.
Selects whose result nobody reads are left out by the optimiser.
"""

from __future__ import annotations

from blockstep.compiler.layouts import ByLane, Shuffle, f2
from blockstep.compiler.lower import lanes
from blockstep.compiler.lower.core import Lowering
from blockstep.compiler.lower.text import Item


def by_shuffles(lw: Lowering, item: Item, chosen: Shuffle) -> Item:
    """The elements where the plan's target wants them."""
    item = turned(lw, item, chosen.offer)
    read = _number(lw, chosen.read)
    received: dict[int, tuple[Item, int]] = {}  # register: where it is among what was received
    for one in chosen.rounds:
        word = lw.pick(item, one.source)
        if not chosen.in_lane:
            lane = lw.b.value(f"xor i32 {read}, {one.lane}") if one.lane else read
            word = lanes.from_lane(lw, word, lane)
        received.update({register: (word, slot) for slot, register in enumerate(one.target)})
    filled = _filled(lw, item, received)
    return lw.pick(turned(lw, filled, chosen.place), chosen.copies)


def _filled(lw: Lowering, like: Item, received: dict[int, tuple[Item, int]]) -> Item:
    """Registers 0, 1, … of what was received; those that are copies of others are left open."""
    count = 1 << max(received).bit_length()
    parts = ["poison"] * count
    for register, (word, slot) in received.items():
        parts[register] = lw.b.value(f"extractelement {word}, i32 {slot}")
    return lw.join(parts, like.kind, count)


def turned(lw: Lowering, item: Item, number: ByLane) -> Item:
    """Register `r` becomes register `r ^ number`, in each lane by its own number."""
    images = (*number.lanes, *number.warps, *number.ctas)
    chosen = f2.independent(images)
    span = f2.Span([images[bit] for bit in chosen])
    assert item.count is not None
    for position, bit in enumerate(chosen):
        has = [(span.solve(image) or 0) >> position & 1 for image in images]
        odd = lw.b.value(f"icmp ne i32 {_number(lw, _split(number, has))}, 0")
        other = lw.pick(item, [r ^ images[bit] for r in range(item.count)])
        name = lw.b.value(f"select i1 {odd}, {other}, {item}")
        item = Item(name, item.kind, item.count)
    return item


def _split(like: ByLane, images: list[int]) -> ByLane:
    lane, warp = len(like.lanes), len(like.lanes) + len(like.warps)
    return ByLane(tuple(images[:lane]), tuple(images[lane:warp]), tuple(images[warp:]))


def _number(lw: Lowering, number: ByLane) -> str:
    """A linear function of the thread: an i32."""
    terms = [(lw.lane, k, v) for k, v in enumerate(number.lanes)]
    terms += [(lw.warp, k, v) for k, v in enumerate(number.warps)]
    if any(number.ctas):
        terms += [(lw.cta(), k, v) for k, v in enumerate(number.ctas)]
    return lw.thread_bits(terms)


__all__ = ["by_shuffles", "turned"]
