"""The shared layout through which a block is converted with wide accesses and few conflicts.

An address is built of three spaces of elements, lowest bits first: what one lane accesses at once
(vector), what makes the 128 bytes of one row of banks full (bank), and the rest (segment). Lanes
conflict when their elements differ by a vector of the segment space, so that space is chosen to
meet neither the span of the source's lanes nor that of the target's: the construction of the
paper "Linear Layouts" (arXiv 2505.23819). Instead of a proof for every case, several
vector spaces are tried and the cheapest layout by count is taken.
"""

from __future__ import annotations

from blockstep.compiler.layouts import axes, f2
from blockstep.compiler.layouts.shared import (
    BANKS,
    WIDEST,
    WORD,
    SharedLayout,
    cost,
    lane_bits_at_once,
    row_major,
)
from blockstep.ir.layout import Layout


def optimal_swizzle(source: Layout, target: Layout, itemsize: int) -> SharedLayout:
    """A shared layout for a block of elements of `itemsize` bytes that is stored from `source`
    and loaded to `target`: the one with the fewest wavefronts of those tried, and of those the one with the fewest accesses."""
    both = _vectors_of_both(source, target, itemsize)
    tried = [row_major(source.shape, range(source.rank)[::-1])]
    tried.append(_build(source, target, source, itemsize, both))
    for one in (source, target):
        more = _more(one, both, itemsize)
        for count in range(1, len(more) + 1):
            tried.append(_build(source, target, one, itemsize, [*both, *more[:count]]))

    def price(one: SharedLayout) -> tuple[int, int]:
        stores, loads = cost(source, one, itemsize), cost(target, one, itemsize)
        return stores[0] + loads[0], stores[1] + loads[1]

    return min(tried, key=price)


def _spread(layout: Layout) -> tuple[int, ...]:
    return layout.lanes + layout.warps + layout.ctas


def _vectors_of_both(source: Layout, target: Layout, itemsize: int) -> list[int]:
    """Elements that a lane holds together on both sides, as many as 16 bytes take.

    None lies in the span of lanes and warps, whose addresses have to be multiples of a vector."""
    shared = f2.intersection(source.registers, target.registers)
    apart = f2.extend([*_spread(source), *_spread(target)], shared)
    return apart[: axes.bits_of(WIDEST // itemsize)]


def _more(layout: Layout, vectors: list[int], itemsize: int) -> list[int]:
    """Elements that make the vectors of one side wider than those of the other."""
    apart = f2.extend([*_spread(layout), *vectors], layout.registers)
    return apart[: axes.bits_of(WIDEST // itemsize) - len(vectors)]


def _build(
    source: Layout, target: Layout, first: Layout, itemsize: int, vectors: list[int]
) -> SharedLayout:
    bits = axes.bits_of(source.numel)
    units = [1 << bit for bit in range(bits)]
    # What is left of the block once vectors are one address: it contains the lanes' elements
    # wherever that can be, so that every vector begins at a multiple of its length; those of the
    # side that has the wider vectors in any case.
    rest = f2.extend(vectors, [*_spread(first), *_spread(source), *_spread(target), *units])
    stored, loaded = (_at_once(side, vectors, rest, itemsize) for side in (source, target))
    word = _word(stored, loaded, rest, (WORD // itemsize).bit_length() - 1 - len(vectors))
    avoided = [*word, *stored], [*word, *loaded]
    small, large = sorted(avoided, key=f2.rank)
    in_banks = axes.bits_of(BANKS * WORD // itemsize)
    count = max(0, bits - in_banks)
    segments = f2.complement(large, small, rest)[:count]
    segments += f2.extend([*word, *segments], rest)[: count - len(segments)]
    banks = f2.extend([*word, *segments], rest)
    return SharedLayout(source.shape, (*vectors, *word, *banks, *segments))


def _at_once(layout: Layout, vectors: list[int], rest: list[int], itemsize: int) -> list[int]:
    """The part within `rest` of what the lanes of one wavefront hold."""
    held = f2.Span(layout.registers)
    width = 0
    while width < len(vectors) and vectors[width] in held:
        width += 1
    lanes = layout.lanes[: lane_bits_at_once(itemsize << width)]
    return f2.intersection([*lanes, *vectors], rest)


def _word(stored: list[int], loaded: list[int], rest: list[int], count: int) -> list[int]:
    """What fills a word with vectors shorter than one: of all lanes' elements preferably, since
    lanes that access the same word do not conflict."""
    shared = f2.intersection(stored, loaded)
    return f2.extend([], [*shared, *stored, *loaded, *rest])[: max(0, count)]
