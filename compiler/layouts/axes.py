"""The bits of a flat row-major index that belong to each axis of a block."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def bits_of(length: int) -> int:
    """log2 of a power of two. Raises ValueError for any other number."""
    if length < 1 or length & (length - 1):
        raise ValueError(f"{length} is no power of two")
    return length.bit_length() - 1


def shift(shape: Sequence[int], axis: int) -> int:
    """The position of an axis's lowest bit in a flat index."""
    return bits_of(prod(shape[axis + 1 :]))


def along(shape: Sequence[int], axis: int, coordinate: int) -> int:
    """The flat index of a coordinate along one axis; 0 for one past its end (it wraps around)."""
    return coordinate << shift(shape, axis) if coordinate < shape[axis] else 0


def mask(shape: Sequence[int], axis: int) -> int:
    """The bits of an axis in a flat index."""
    return (shape[axis] - 1) << shift(shape, axis)


def coordinates(shape: Sequence[int], element: int) -> tuple[int, ...]:
    """The coordinates of a flat index."""
    return tuple((element & mask(shape, axis)) >> shift(shape, axis) for axis in range(len(shape)))


def flat(shape: Sequence[int], position: Sequence[int]) -> int:
    """The flat index of coordinates."""
    index = 0
    for length, coordinate in zip(shape, position, strict=True):
        index = index * length + coordinate
    return index


def normal(axis: int, rank: int) -> int:
    """An axis counted from the front. Raises ValueError if the block has no such axis."""
    if not -rank <= axis < rank:
        raise ValueError(f"a block of {rank} axes has no axis {axis}")
    return axis % rank
