"""Linear maps and subspaces over F2, as tuples of integers.

A map is the tuple of the images of its input bits; a subspace is the span of a tuple of integers.
Everything is exact: no function assumes bases of a single bit. Spaces have some tens of
dimensions at most, so plain elimination is fast enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from blockstep.ir.layout import rank, xor

Map = tuple[int, ...]
Vectors = Iterable[int]


def compose(outer: Sequence[int], inner: Sequence[int]) -> Map:
    """The map `inner` first, then `outer`."""
    return tuple(xor(outer, image) for image in inner)


def product(low: Sequence[int], high: Sequence[int], bits: int) -> Map:
    """The map that applies `low` to the low input bits and `high` to the others; the images of
    `low` take the low `bits` output bits, those of `high` the bits above."""
    return (*low, *(image << bits for image in high))


def divide(whole: Sequence[int], low: Sequence[int], bits: int) -> Map | None:
    """The map `high` with whole = product(low, high, bits), or None if there is none."""
    high = whole[len(low) :]
    begins = tuple(whole[: len(low)]) == tuple(low) and len(whole) >= len(low)
    if not begins or any(image & ((1 << bits) - 1) for image in high):
        return None
    return tuple(image >> bits for image in high)


class Span:
    """The span of some vectors, which knows how a vector is made of them.

    A vector that depends on earlier ones is never used: `chosen` are the positions of those that
    are, in order. So of several ways to make a vector, the one found uses the earliest."""

    def __init__(self, vectors: Vectors) -> None:
        self._reduced: dict[int, tuple[int, int]] = {}  # leading bit: vector, what it is made of
        self.chosen: list[int] = []
        self._count = 0
        for vector in vectors:
            self.add(vector)

    def _reduce(self, vector: int) -> tuple[int, int]:
        made_of = 0
        while vector and vector.bit_length() in self._reduced:
            other, parts = self._reduced[vector.bit_length()]
            vector ^= other
            made_of ^= parts
        return vector, made_of

    def add(self, vector: int) -> bool:
        """Adds a vector; whether it was independent of the others."""
        position = self._count
        self._count += 1
        rest, made_of = self._reduce(vector)
        if rest:
            self._reduced[rest.bit_length()] = rest, made_of ^ 1 << position
            self.chosen.append(position)
        return bool(rest)

    def __contains__(self, vector: int) -> bool:
        return not self._reduce(vector)[0]

    def __len__(self) -> int:
        """The dimension."""
        return len(self.chosen)

    def solve(self, vector: int) -> int | None:
        """The mask of positions of vectors that XOR to this one, or None if it is outside."""
        rest, made_of = self._reduce(vector)
        return None if rest else made_of


def independent(vectors: Sequence[int]) -> list[int]:
    """Positions of vectors that depend on no earlier one: a basis of the span."""
    return Span(vectors).chosen


def extend(basis: Vectors, candidates: Vectors) -> list[int]:
    """The candidates that have to be added to `basis` to span both."""
    span = Span(basis)
    return [vector for vector in candidates if span.add(vector)]


def intersection(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """A basis of the intersection of two spans."""
    a = [a[position] for position in independent(a)]
    span, found = Span(a), []
    for vector in b:
        if not span.add(vector):
            # vector = (part of a) ^ (earlier vectors of b): the part of a lies in both spans.
            found.append(xor(a, _made_of(span, vector) & ((1 << len(a)) - 1)))
    return [found[position] for position in independent(found)]


def _made_of(span: Span, vector: int) -> int:
    mask = span.solve(vector)
    assert mask is not None, "the vector was found to be dependent"
    return mask


def inverse(images: Sequence[int], bits: int) -> Map:
    """For each of `bits` output bits, an input that maps to it and uses the earliest input bits.

    A right inverse: compose(images, inverse(images, bits)) is the identity. Input bits whose
    image depends on earlier ones are 0 in it. Raises ValueError if the map is not onto."""
    span = Span(images)
    found = [span.solve(1 << bit) for bit in range(bits)]
    if None in found:
        raise ValueError(f"the map is not onto {bits} bits")
    return tuple(mask for mask in found if mask is not None)


def complement(a: Sequence[int], b: Sequence[int], space: Sequence[int]) -> list[int]:
    """A basis of a complement of span(a) in `space` that meets span(b) as little as it can.

    Both spans lie in `space`. Where a and b have equal dimensions it meets b in 0 alone. Of the
    vectors of `space`, the earliest are used."""
    both = intersection(a, b)
    only_a, only_b = extend(both, a), extend(both, b)
    rest = extend([*a, *b], space)
    paired = [x ^ y for x, y in zip(only_a, only_b, strict=False)]
    return rest + paired + only_b[len(paired) :]


__all__ = [
    "Map",
    "Span",
    "complement",
    "compose",
    "divide",
    "extend",
    "independent",
    "intersection",
    "inverse",
    "product",
    "rank",
    "xor",
]
