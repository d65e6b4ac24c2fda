"""What atomics do to memory: lanes act one after the other, in the order of the block.

Where all lanes name different elements, one NumPy call does them at once; lanes that share an
element go in rounds, the k-th lane of each element in the k-th round, which gives every lane the
old value it would see one at a time. Integer sums over many repeats use running sums instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_SHORT = 1 << 16  # fewer elements than this are sorted by radix, as 16-bit numbers


def _extreme(greatest: bool) -> Callable[[Array, Array], Array]:
    """Floats by sign and bits, as PTX's integer forms compare them: sign-magnitude to an order."""

    def combine(old: Array, new: Array) -> Array:
        if old.dtype.kind in "iub":
            return np.maximum(old, new) if greatest else np.minimum(old, new)
        a, b = _ordered(old), _ordered(new)
        keep = a >= b if greatest else a <= b
        return np.where(keep, old, new)

    return combine


def _ordered(x: Array) -> Array:
    bits = np.asarray(x).view(np.dtype(f"i{x.dtype.itemsize}"))
    lowest = np.iinfo(bits.dtype).min
    return np.where(bits < 0, lowest - bits - 1, bits)


def _sum(old: Array, new: Array) -> Array:
    """PTX's atom.add.f32 in global memory takes and gives subnormal numbers as zeros."""
    if old.dtype != np.float32:
        return np.add(old, new)
    return _flushed(np.add(_flushed(old), _flushed(new)))


def _flushed(x: Array) -> Array:
    return np.where(np.abs(x) < np.float32(2.0**-126), np.copysign(np.float32(0), x), x)


COMBINE: dict[str, Callable[[Array, Array], Array]] = {
    "add": _sum,
    "max": _extreme(True),
    "min": _extreme(False),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "xchg": lambda old, new: new,
}


def read_modify_write(
    memory: Array, index: npt.NDArray[np.int64], values: Array, combine: str
) -> Array:
    """Applies `combine` lane after lane to `memory[index]`; the old value each lane saw."""
    function = COMBINE[combine]
    if index.size <= 1 or _distinct(index):
        old = memory[index]
        memory[index] = function(old, values)
        return old
    if combine == "add" and memory.dtype.kind in "iu":
        return _running_sums(memory, index, values)
    rank = _ranks(index)
    most = int(rank.max()) + 1
    old = np.empty(index.shape, memory.dtype)
    for turn in range(most):
        lanes = rank == turn
        here = index[lanes]
        before = memory[here]
        old[lanes] = before
        memory[here] = function(before, values[lanes])
    return old


def compare_and_swap(
    memory: Array, index: npt.NDArray[np.int64], expected: Array, values: Array
) -> tuple[Array, Array]:
    """Swaps lane after lane where the bits are equal; old values, and which lanes swapped."""
    bits = np.dtype(f"u{memory.dtype.itemsize}")
    raw, want, new = memory.view(bits), expected.view(bits), values.view(bits)
    rank = np.zeros(index.shape, np.int64) if _distinct(index) else _ranks(index)
    old = np.empty(index.shape, bits)
    swapped = np.zeros(index.shape, bool)
    for turn in range(int(rank.max(initial=-1)) + 1):
        lanes = rank == turn
        here = index[lanes]
        old[lanes] = raw[here]
        swapped[lanes] = old[lanes] == want[lanes]
        raw[here] = np.where(swapped[lanes], new[lanes], old[lanes])
    return old.view(memory.dtype), swapped


def _distinct(index: npt.NDArray[np.int64]) -> bool:
    if index.size <= 1:
        return True
    if bool(np.all(index[1:] > index[:-1])):
        return True
    if index.size > int(index.max()) - int(index.min()) + 1:
        return False
    ordered = np.sort(index)
    return bool(np.all(ordered[1:] != ordered[:-1]))


def _order(index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Lanes by element, those of one element in their own order."""
    low = int(index.min())
    if int(index.max()) - low < _SHORT:
        return np.argsort((index - low).astype(np.uint16), kind="stable")
    return np.argsort(index, kind="stable")


def _ranks(index: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each lane, how many earlier lanes name the same element."""
    order = _order(index)
    ordered = index[order]
    first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    start = np.maximum.accumulate(np.where(first, np.arange(index.size), 0))
    ranks = np.empty(index.size, np.int64)
    ranks[order] = np.arange(index.size) - start
    return ranks


def _running_sums(memory: Array, index: npt.NDArray[np.int64], values: Array) -> Array:
    order = _order(index)
    ordered, amounts = index[order], values[order]
    first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    totals = np.cumsum(amounts, dtype=memory.dtype)
    before = totals - amounts
    start = np.maximum.accumulate(np.where(first, np.arange(index.size), 0))
    exclusive = before - before[start]
    old = np.empty(index.size, memory.dtype)
    old[order] = memory[ordered] + exclusive
    last = np.concatenate((first[1:], [True]))
    memory[ordered[last]] = old[order][last] + amounts[last]
    return old
