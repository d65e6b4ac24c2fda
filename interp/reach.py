"""`Reach`: where the active lanes of one access go, worked out once for all checkers.

Invariant: `low <= address` and `address + size <= high` for every active lane, both ends are met,
and `rising` promises that lane follows lane without sharing a byte; `packed` that they leave none
out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from blockstep.findings import Access

Addresses = npt.NDArray[np.int64]

_NONE: Addresses = np.zeros(0, np.int64)


class Reach:
    """The active lanes of an access: how many, from where to where, in which pattern."""

    __slots__ = (
        "addresses",
        "count",
        "given",
        "high",
        "low",
        "mask",
        "packed",
        "rising",
        "scalar",
        "size",
    )

    def __init__(self, addresses: Any, mask: Any, size: int) -> None:
        self.size = size
        self.given = self.mask = mask
        self.scalar = np.ndim(addresses) == 0
        if self.scalar:
            self._one(int(addresses), mask is None or bool(mask))
            return
        flat: Addresses = addresses.reshape(-1)
        if mask is not None:
            flags = mask.reshape(-1)
            if flags.all():
                self.mask = None
            else:
                flat = flat[flags]
        self._many(flat)

    @classmethod
    def affine(cls, addresses: Any, size: int, low: int, high: int, rising: bool) -> Reach:
        """The reach of a block whose limits and order are known; every lane is active."""
        reach = object.__new__(cls)
        reach.size, reach.given, reach.mask, reach.scalar = size, None, None, False
        reach.addresses = addresses.reshape(-1)
        reach.count = len(reach.addresses)
        reach.low, reach.high, reach.rising = low, high, rising
        reach.packed = rising and high - low == reach.count * size
        return reach

    def _one(self, address: int, active: bool) -> None:
        self.count = int(active)
        self.addresses: Addresses = np.array([address][: self.count], np.int64)
        self.low, self.high = address, address + self.size if active else address
        self.packed = self.rising = True

    def _many(self, flat: Addresses) -> None:
        self.addresses = flat
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

    def bare(self) -> Reach:
        """The same bytes for keeps: no mask, and no addresses where there are no gaps."""
        made = Reach.__new__(Reach)
        made.size, made.count, made.low, made.high = self.size, self.count, self.low, self.high
        made.packed, made.rising, made.scalar = self.packed, self.rising, self.scalar
        made.addresses = _NONE if self.packed else self.addresses
        made.given = made.mask = None
        return made

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
        wide = np.broadcast_to(block, shape).reshape(-1)
        if self.mask is None:
            return wide[: self.count]
        return wide[self.mask.reshape(-1)]


def reach_of(access: Access) -> Reach:
    """The reach of an access; computed at the first call, and again when the mask was replaced."""
    found: Reach | None = access.reach
    if found is None or found.given is not access.mask:
        found = access.reach = Reach(access.addresses, access.mask, access.itemsize)
    return found
