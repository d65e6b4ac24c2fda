"""How a block gets from one layout to another: the cheapest of four ways.

Nothing moves; registers of each lane change names; lanes of a warp shuffle; or the block goes
through shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from blockstep.compiler.layouts import f2
from blockstep.compiler.layouts.linear import same
from blockstep.compiler.layouts.shared import SharedLayout, cost, widest
from blockstep.compiler.layouts.shuffle import Shuffle, shuffle
from blockstep.compiler.layouts.swizzle import optimal_swizzle
from blockstep.ir.layout import Layout, xor

BARRIERS = 16  # what two barriers and the way there and back cost, in wavefronts (an estimate)


@dataclass(frozen=True, slots=True)
class Nothing:
    """Every holder has its element already."""


@dataclass(frozen=True, slots=True)
class Registers:
    """Register `i` of the target is register `permutation[i]` of the source, in each lane.

    Copies are left out or added: it need not be a permutation in the strict sense."""

    permutation: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """Stores of `store_vector` elements into shared memory that lies as `swizzle` says, a barrier,
    and loads of `load_vector` elements. `accesses` of the shared layout lists both."""

    swizzle: SharedLayout
    store_vector: int
    load_vector: int
    bytes: int
    """The size of the shared memory."""


Conversion = Nothing | Registers | Shuffle | Shared


@lru_cache(maxsize=4096)
def plan(source: Layout, target: Layout, itemsize: int) -> Conversion:
    """The cheapest conversion of a block of elements of `itemsize` bytes (1, 2, 4 or 8).

    Raises ValueError if the layouts are of different shapes or numbers of warps or CTAs, and if
    elements would have to move between CTAs."""
    _check(source, target)
    if same(source, target):
        return Nothing()
    permutation = _registers(source, target)
    if permutation is not None:
        return Registers(permutation)
    by_lanes = shuffle(source, target, itemsize)
    through = _shared(source, target, itemsize)
    if by_lanes is None:
        return through
    stored = cost(source, through.swizzle, itemsize)[0]
    loaded = cost(target, through.swizzle, itemsize)[0]
    return by_lanes if by_lanes.cost(itemsize) <= stored + loaded + BARRIERS else through


def _check(source: Layout, target: Layout) -> None:
    if source.shape != target.shape:
        raise ValueError(f"a block of {source.shape} is not converted to one of {target.shape}")
    holders = [(one.num_warps, one.num_ctas) for one in (source, target)]
    if holders[0] != holders[1]:
        raise ValueError(f"{source} and {target} are of different numbers of warps or CTAs")
    inside = f2.Span(source.registers + source.lanes + source.warps)
    apart = (a ^ b for a, b in zip(source.ctas, target.ctas, strict=True))
    wanted = (*target.registers, *target.lanes, *target.warps, *apart)
    if any(basis not in inside for basis in wanted):
        raise ValueError(f"from {source} to {target} elements move between CTAs")


def _registers(source: Layout, target: Layout) -> tuple[int, ...] | None:
    """The source's register of each of the target's, if all lanes have what they need."""
    spread = [(one.lanes, one.warps, one.ctas) for one in (source, target)]
    if spread[0] != spread[1]:
        return None
    held = f2.Span(source.registers)
    found = [held.solve(xor(target.registers, i)) for i in range(target.per_lane)]
    known = tuple(register for register in found if register is not None)
    return known if len(known) == len(found) else None


def _shared(source: Layout, target: Layout, itemsize: int) -> Shared:
    swizzle = optimal_swizzle(source, target, itemsize)
    store, load = widest(source, swizzle, itemsize), widest(target, swizzle, itemsize)
    return Shared(swizzle, store, load, source.numel * itemsize)
