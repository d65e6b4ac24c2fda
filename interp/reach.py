"""`Reach`: where the active lanes of one access go, worked out once for all checkers.

Invariant: `low <= address` and `address + size <= high` for every active lane, both ends are met,
and `rising` promises that lane follows lane without sharing a byte; `packed` that they leave none
out. A reach with `strides` is regular: its active lanes are a block of `shape` from `start` on, and
no address is written down before somebody asks for `addresses`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from blockstep.findings import Access
from blockstep.interp.forms import Box, positions, span

Addresses = npt.NDArray[np.int64]

_NONE: Addresses = np.zeros(0, np.int64)


class Reach:
    """The active lanes of an access: how many, from where to where, in which pattern."""

    __slots__ = (
        "_addresses",
        "_mask",
        "box",
        "count",
        "given",
        "high",
        "low",
        "packed",
        "rising",
        "scalar",
        "shape",
        "size",
        "start",
        "strides",
        "whole",
    )

    start: int  # of a regular reach: the first active lane's address
    strides: tuple[int, ...] | None  # in bytes, for each axis
    shape: tuple[int, ...]  # of the active lanes
    whole: tuple[int, ...]  # of the block
    box: Box | None  # where in it they are; None: everywhere

    def __init__(self, addresses: Any, mask: Any, size: int) -> None:
        self.size = size
        self.given = self._mask = mask
        self.strides = self.box = None
        self.scalar = np.ndim(addresses) == 0
        if self.scalar:
            active = mask is None or bool(mask)
            if active:
                self._mask = None
            self._one(int(addresses), active)
            return
        flat: Addresses = addresses.reshape(-1)
        if mask is not None:
            flags = mask.reshape(-1)
            if flags.all():
                self._mask = None
            else:
                flat = flat[flags]
        self._many(flat)

    @classmethod
    def regular(
        cls, start: int, strides: tuple[int, ...], whole: tuple[int, ...], size: int,
        box: Box | None = None, given: Any = None,
    ) -> Reach:  # fmt: skip
        """The lanes of a block whose addresses are affine, in a box of it."""
        reach = object.__new__(cls)
        reach.size, reach.given, reach.scalar = size, given, not whole
        reach._addresses = reach._mask = None
        reach.strides, reach.whole, reach.box = strides, whole, box
        if box is None:
            shape = whole
        else:
            shape = tuple([high - low for low, high in box.limits])
            start += sum([low * s for (low, _), s in zip(box.limits, strides, strict=True)])
        low, high, reach.count, reach.rising, reach.packed = _pattern(strides, shape, size)
        reach.shape, reach.start, reach.low, reach.high = shape, start, start + low, start + high
        return reach

    def _one(self, address: int, active: bool) -> None:
        self.count = int(active)
        self._addresses: Addresses | None = np.array([address][: self.count], np.int64)
        self.low, self.high = address, address + self.size if active else address
        self.packed = self.rising = True

    def _many(self, flat: Addresses) -> None:
        self._addresses = flat
        self.count = count = len(flat)
        self.packed = self.rising = True
        if count < 2:
            self.low = int(flat[0]) if count else 0
            self.high = self.low + self.size if count else 0
            return
        self.rising = int((flat[1:] - flat[:-1]).min()) >= self.size
        if self.rising:
            self.low, self.high = int(flat[0]), int(flat[-1]) + self.size
        else:
            self.low, self.high = int(flat.min()), int(flat.max()) + self.size
        self.packed = self.rising and self.high - self.low == count * self.size

    @property
    def addresses(self) -> Addresses:
        """The active lanes' addresses, in lane order."""
        found = self._addresses
        if found is None:
            assert self.strides is not None
            found = self._addresses = positions(self.start, self.strides, self.shape).reshape(-1)
        return found

    @property
    def mask(self) -> Any:
        """Which elements of the block are active lanes; None: all."""
        if self._mask is None and self.box is not None:
            self._mask = np.zeros(self.whole, bool)
            self._mask[self.box.slices] = True
        return self._mask

    @property
    def nbytes(self) -> int:
        """About what keeping this takes."""
        if self._addresses is None:
            return 256 + self.count if self.given is not None else 256
        return 256 + self.count + self._addresses.nbytes

    def aligned(self, low_bits: int) -> bool | None:
        """Whether no address has one of `low_bits` set; None where only `addresses` can tell."""
        if self.packed:
            return None if self.low & low_bits else True
        if self.strides is None:
            return None
        return True if not self.bits(0) & low_bits else None

    def bits(self, base: int) -> int:
        """Of a regular reach: a number with the lowest bit of all offsets from `base`."""
        assert self.strides is not None
        found = self.start - base
        for n, stride in zip(self.shape, self.strides, strict=True):
            if n > 1:
                found |= stride
        return found

    def bare(self) -> Reach:
        """The same bytes for keeps: no mask, and no addresses where there are no gaps."""
        if self.strides is not None:
            return self
        made = Reach.__new__(Reach)
        made.size, made.count, made.low, made.high = self.size, self.count, self.low, self.high
        made.packed, made.rising, made.scalar = self.packed, self.rising, self.scalar
        made._addresses = _NONE if self.packed else self.addresses
        made.given = made._mask = made.strides = made.box = None
        return made

    def window(self, memory: npt.NDArray[Any], base: int, dtype: np.dtype[Any]) -> Any:
        """Of a regular reach: its elements in the bytes that begin at `base`, as a strided array."""
        return np.ndarray(self.shape, dtype, memory, self.start - base, self.strides)

    def spread(
        self, chosen: npt.NDArray[np.bool_], shape: tuple[int, ...]
    ) -> npt.NDArray[np.bool_]:
        """Flags of active lanes as flags of the block."""
        if self.scalar:
            return np.asarray(bool(chosen.any()) if len(chosen) else False)
        if self.mask is None:
            return chosen.reshape(shape)
        block = np.zeros(shape, bool)
        block[self.mask] = chosen
        return block

    def active(self, block: Any, shape: tuple[int, ...]) -> Any:
        """The active lanes' part of a value of the block, flat."""
        wide = np.broadcast_to(block, shape)
        if self.box is not None:
            return wide[self.box.slices].reshape(-1)
        if self.mask is None:
            return wide.reshape(-1)[: self.count]
        return wide.reshape(-1)[self.mask.reshape(-1)]


@lru_cache(maxsize=4096)
def _pattern(
    strides: tuple[int, ...], shape: tuple[int, ...], size: int
) -> tuple[int, int, int, bool, bool]:
    """Of a regular block: first and last byte from its start on, lanes, `rising`, `packed`."""
    low, high = span(strides, shape)
    count, rising, inner = 1, True, size
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n > 1:
            count *= n
            rising = rising and stride >= inner
            inner += stride * (n - 1)
    high += size
    return low, high, count, rising, rising and high - low == count * size


def reach_of(access: Access) -> Reach:
    """The reach of an access; computed at the first call, and again when the mask was replaced."""
    found: Reach | None = access.reach
    if found is None or found.given is not access.given:
        mask = access.mask
        found = access.reach = Reach(access.addresses, mask, access.itemsize)
        found.given = access.given
    return found
