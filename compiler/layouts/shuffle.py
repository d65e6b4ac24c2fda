"""Conversions inside a warp: rounds in which each lane offers a register and reads another lane's.

A round moves one element (or one word of several) per lane. Over the elements of a warp it is an
affine subspace: the rounds are the translates of a space `moved`, one for each register of the
target, so no conversion takes more rounds than the target has registers. `moved` has to be a
complement of the span of the target's registers, so that a round fills one register of each lane,
and must be contained in what one register of each source lane can offer. Where the two sets of
lanes hold different elements, a lane offers, or fills, another register than its neighbour does:
then registers are exchanged inside the lane before, or after, by selects on bits of the lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from blockstep.compiler.layouts import axes, f2
from blockstep.compiler.layouts.linear import ByLane
from blockstep.ir.layout import LANE_BITS, Layout, xor


@dataclass(frozen=True, slots=True)
class Round:
    """One shuffle: constants that are XORed with the linear parts of the `Shuffle`."""

    source: tuple[int, ...]
    """The registers a lane offers: one, or the elements of one 32-bit word."""
    lane: int
    target: tuple[int, ...]
    """The registers a lane fills, in the same order."""


@dataclass(frozen=True, slots=True)
class Shuffle:
    """A conversion by rounds of shfl.sync idx.

    In each round a lane offers its registers `r ^ offer` for `r` in `round.source`, reads from
    lane `read ^ round.lane`, and what it reads are its registers `t ^ place` for `t` in
    `round.target`. Then register `i` of the target is register `copies[i]`."""

    offer: ByLane
    read: ByLane
    place: ByLane
    rounds: tuple[Round, ...]
    copies: tuple[int, ...]

    @property
    def in_lane(self) -> bool:
        """Whether every lane reads from itself alone: selects do, and nothing is shuffled."""
        own = tuple(1 << bit for bit in range(LANE_BITS))
        still = not any(self.read.warps + self.read.ctas)
        return self.read.lanes == own and still and not any(one.lane for one in self.rounds)

    def cost(self, itemsize: int) -> float:
        """About what it costs, in wavefronts of shared memory: a shuffle of 4 bytes is one, and
        a select of 4 bytes half of one. For comparison with a conversion through shared memory."""
        words = max(1, len(self.rounds[0].source) * itemsize // 4)
        rounds = len(self.rounds)
        selects = sum(_selects(rounds, part) for part in (self.offer, self.place))
        return words * ((0 if self.in_lane else rounds) + selects / 2)


def _selects(rounds: int, part: ByLane) -> int:
    """Selects of words that make a register depend on the lane: a tree of them in every round, or
    beforehand an exchange of all registers for every independent bit."""
    bits = f2.rank(part.lanes + part.warps + part.ctas)
    return min(rounds * ((1 << bits) - 1), max(rounds, 1 << bits) * bits)


def shuffle(source: Layout, target: Layout, itemsize: int) -> Shuffle | None:
    """The cheapest conversion inside each warp that is found, or None if elements leave a warp
    or a round of every register does not suffice."""
    warp = _Warp(source, target)
    if not warp.closed():
        return None
    found = [_from_moved(warp, moved, itemsize) for moved in warp.spaces()]
    possible = [one for one in found if one is not None]
    return min(possible, key=lambda one: one.cost(itemsize)) if possible else None


class _Warp:
    """The spaces of elements of a warp: what registers and lanes span on both sides."""

    def __init__(self, source: Layout, target: Layout) -> None:
        self.source, self.target = source, target
        self.offered = [source.registers[b] for b in f2.independent(source.registers)]
        self.filled = [target.registers[b] for b in f2.independent(target.registers)]
        self.wanted = f2.extend([], [*self.filled, *target.lanes])
        self.apart = [a ^ b for a, b in zip(source.warps, target.warps, strict=True)]
        self.far = [a ^ b for a, b in zip(source.ctas, target.ctas, strict=True)]

    def closed(self) -> bool:
        """Whether the source's lanes of every warp hold what the same warp's target lanes want."""
        held = f2.Span([*self.source.registers, *self.source.lanes])
        return all(vector in held for vector in (*self.wanted, *self.apart, *self.far))

    def spaces(self) -> list[list[int]]:
        """Candidates for `moved`: the target's lanes as they are, and the complement of its
        registers that has the least in common with the source's."""
        kept = f2.intersection(self.offered, self.wanted)
        return [
            f2.extend(self.filled, self.target.lanes),
            f2.complement(self.filled, kept, [*self.target.lanes, *self.wanted]),
        ]


class _Decomposed:
    """Elements as a sum of a part in the span of registers and a part in a complement of it."""

    def __init__(self, registers: Sequence[int], others: Sequence[int]) -> None:
        self._registers, self._others = registers, others
        self._span = f2.Span([*registers, *others])

    def register(self, element: int) -> int:
        """The register that makes the one part."""
        return self._solved(element) & ((1 << len(self._registers)) - 1)

    def other(self, element: int) -> int:
        """The other part."""
        return xor(self._others, self._solved(element) >> len(self._registers))

    def _solved(self, element: int) -> int:
        made_of = self._span.solve(element)
        assert made_of is not None, "both parts span the elements of the warp"
        return made_of


def _from_moved(warp: _Warp, moved: list[int], itemsize: int) -> Shuffle | None:
    """The rounds that are translates of `moved`, if the source's lanes can offer them."""
    source, target = warp.source, warp.target
    same_lane = f2.intersection(moved, warp.offered)
    across = f2.extend(same_lane, moved)
    # What one register per lane offers, apart from the registers themselves.
    offers = across + f2.extend([*warp.offered, *across], source.lanes)
    held, wanted = _Decomposed(source.registers, offers), _Decomposed(target.registers, moved)
    goals = [wanted.other(basis) for basis in target.lanes]
    offered = _offered(source, held, goals, same_lane)
    reach = f2.Span(offered)
    if any(goal not in reach for goal in goals):
        return None
    own = [goal == offer for goal, offer in zip(goals, offered, strict=True)]
    read = [1 << b if own[b] else reach.solve(goals[b]) or 0 for b in range(LANE_BITS)]
    from_offers = [held.other(vector) for vector in (*warp.apart, *warp.far)]
    far_read = [reach.solve(vector) or 0 for vector in from_offers]
    count = len(source.warps)
    offer = [held.register(o ^ basis) for o, basis in zip(offered, source.lanes, strict=True)]
    far_offer = [held.register(vector) for vector in (*warp.apart, *warp.far)]
    none = (0,) * count, (0,) * len(source.ctas)
    return Shuffle(
        ByLane(tuple(offer), tuple(far_offer[:count]), tuple(far_offer[count:])),
        ByLane(tuple(read), tuple(far_read[:count]), tuple(far_read[count:])),
        ByLane(tuple(wanted.register(basis) for basis in target.lanes), *none),
        tuple(_rounds(warp, held, wanted, reach, itemsize)),
        tuple(wanted.register(xor(target.registers, i)) for i in range(target.per_lane)),
    )


def _offered(
    source: Layout, held: _Decomposed, goals: list[int], same_lane: list[int]
) -> list[int]:
    """The element that each lane bit adds to what a lane offers.

    Lanes of different elements offer those. Lanes that are copies of others are free to offer
    another register: what they want themselves if that may be, else what others miss."""
    parts = [held.other(basis) for basis in source.lanes]
    free = set(range(LANE_BITS)) - set(f2.independent(parts))
    for chosen in ({b for b in free if held.other(goals[b]) == parts[b]}, set[int]()):
        offered = [goals[b] if b in chosen else part for b, part in enumerate(parts)]
        missing = f2.extend(offered, same_lane)
        for bit, vector in zip(sorted(free - chosen), missing, strict=False):
            offered[bit] ^= vector
        if len(missing) <= len(free - chosen):
            break
    return offered


def _rounds(
    warp: _Warp, held: _Decomposed, wanted: _Decomposed, reach: f2.Span, itemsize: int
) -> list[Round]:
    """One round for every word of the target's registers."""
    in_word = axes.bits_of(4 // itemsize) if itemsize < 4 else 0
    word = f2.intersection(warp.filled, warp.offered)[:in_word]
    rest = f2.extend(word, warp.filled)
    rounds = []
    for number in range(1 << len(rest)):
        first = xor(rest, number)
        elements = [first ^ xor(word, slot) for slot in range(1 << len(word))]
        lane = reach.solve(held.other(first))
        assert lane is not None, "what is offered reaches all of the warp"
        filled = tuple(wanted.register(element) for element in elements)
        rounds.append(Round(tuple(held.register(e) for e in elements), lane, filled))
    return rounds
