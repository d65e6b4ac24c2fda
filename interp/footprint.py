"""`Footprint`: exactly which bytes a strided array touches, and which element an address is.

Invariant: membership is exact for every shape and strides (negative, zero, gaps, overlapping), and
costs one subtraction and two comparisons where the bytes have no gaps. Nothing is ever enumerated,
so an array of 2**33 bytes costs no more than one of eight.

A footprint is a run of bytes without gaps, repeated at `steps`: `(step, times)` pairs, smallest
step first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Addresses = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Footprint:
    """The bytes of an array at `base` with `shape` and `strides` (in bytes)."""

    __slots__ = (
        "axes",
        "base",
        "dense",
        "hi",
        "itemsize",
        "lo",
        "nested",
        "rank",
        "reach",
        "run",
        "steps",
    )

    def __init__(
        self, base: int, shape: Sequence[int], strides: Sequence[int], itemsize: int
    ) -> None:
        self.base, self.itemsize, self.rank = base, itemsize, len(shape)
        self.lo = self.hi = base
        self.run, self.nested = 0, True
        self.steps: list[tuple[int, int]] = []
        self.reach: list[int] = []
        if 0 not in shape:
            self.lo = base + sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
            self._lay_out(shape, strides)
            self.hi = self.lo + self.run + sum(s * (n - 1) for s, n in self.steps)
        self.dense = not self.steps
        # axes that move, largest stride first: (axis, size, stride)
        moving = [
            (a, n, s) for a, (n, s) in enumerate(zip(shape, strides, strict=True)) if n > 1 and s
        ]
        self.axes = sorted(moving, key=lambda axis: -abs(axis[2]))

    def _lay_out(self, shape: Sequence[int], strides: Sequence[int]) -> None:
        self.run = self.itemsize
        for step, times in sorted(
            (abs(s), n) for s, n in zip(strides, shape, strict=True) if n > 1 and s
        ):
            if not self.steps and step <= self.run:
                self.run += step * (times - 1)
                continue
            inner, count = self.steps[-1] if self.steps else (step, 0)
            if count and step % inner == 0 and step // inner <= count:
                self.steps[-1] = (inner, count + (times - 1) * (step // inner))
            else:
                self.steps.append((step, times))
        for step, times in self.steps:  # bytes from the first to the last of what one step repeats
            before = self.reach[-1] if self.reach else self.run
            self.nested = self.nested and before < step
            self.reach.append(before + step * (times - 1))
        self.reach.insert(0, self.run)

    def covers(self, lo: int, hi: int) -> bool:
        """Whether all of `[lo, hi)` is surely inside. False says nothing where there are gaps."""
        return self.dense and self.lo <= lo and hi <= self.hi

    def contains(self, addresses: Any, size: int) -> Flags:
        """For each address, whether all of its `size` bytes are inside."""
        offsets = np.subtract(addresses, self.lo)
        if self.dense:
            inside: Flags = (offsets >= 0) & (offsets <= self.run - size)
            return inside
        if self.nested:
            return self._inside(offsets, size, len(self.steps) - 1)
        found = self._inside(offsets, 1, len(self.steps) - 1)
        for byte in range(1, size):
            found &= self._inside(offsets + byte, 1, len(self.steps) - 1)
        return found

    def _inside(self, offsets: Addresses, size: int, level: int) -> Flags:
        if level < 0:
            flat: Flags = (offsets >= 0) & (offsets <= self.run - size)
            return flat
        step, times = self.steps[level]
        index = np.clip(offsets // step, 0, times - 1)
        found = self._inside(offsets - index * step, size, level - 1)
        for back in range(
            1, -(-self.reach[level] // step)
        ):  # steps that overlap: earlier ones may hold it too
            found |= (index >= back) & self._inside(
                offsets - (index - back) * step, size, level - 1
            )
        return found

    def element(self, address: int) -> tuple[int, ...]:
        """The multi-index of the element at `address`; outside, the index it would have."""
        index = [0] * self.rank
        offset = address - self.lo
        if not self.axes:
            if self.rank:
                index[-1] = offset // self.itemsize
            return tuple(index)
        found = self._search(offset, 0) or self._divide(offset)
        for (axis, size, stride), at in zip(self.axes, found, strict=True):
            index[axis] = at if stride > 0 else size - 1 - at
        return tuple(index)

    def _divide(self, offset: int) -> list[int]:
        found = []
        for _, _, stride in self.axes:
            found.append(offset // abs(stride))
            offset -= found[-1] * abs(stride)
        return found

    def _search(self, offset: int, depth: int) -> list[int] | None:
        """Indices along `axes[depth:]` that lead exactly to the element that holds `offset`."""
        if depth == len(self.axes):
            return [] if 0 <= offset < self.itemsize else None
        _, size, stride = self.axes[depth]
        step = abs(stride)
        rest = self.itemsize + sum((n - 1) * abs(s) for _, n, s in self.axes[depth + 1 :])
        for at in range(min(offset // step, size - 1), -1, -1):
            if offset - at * step >= rest:
                return None
            tail = self._search(offset - at * step, depth + 1)
            if tail is not None:
                return [at, *tail]
        return None
