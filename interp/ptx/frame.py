"""Threads that run a block together, and the arrangement of their registers.

A frame is either whole CTAs, and then a register is an array that broadcasts to (CTAs, threads); or
any threads of a batch, and then to (1, threads). A thread is known by the position of its CTA in the
batch and its linear index in the CTA.

Invariant: register values are never written in place by instructions, so that `mov` is a second
name for the same array.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from blockstep.interp.ptx.batch import Batch

Bits = NDArray[Any]
Flags = NDArray[np.bool_]
Mask = Flags | None
LANES = 32


def distinct(x: Bits) -> list[int]:
    """The numbers in an array, each once: mostly there is one."""
    if x.size and bool((x == x.flat[0]).all()):
        return [int(x.flat[0])]
    found: list[int] = np.unique(x).tolist()
    return found


class Warps:
    """The threads of a frame by warp and lane: values as (warps, 32) arrays.

    `present` is None when every warp is whole; `cta` and `warp` name the rows."""

    def __init__(self, frame: Frame) -> None:
        cta, tid = frame.full(frame.cta).reshape(-1), frame.full(frame.tid).reshape(-1)
        self.shape = frame.shape
        heads = tid[::LANES]
        steps = np.arange(LANES)
        whole = (
            tid.size % LANES == 0
            and bool((tid.reshape(-1, LANES) == heads[:, None] + steps).all())
            and not bool((heads % LANES).any())
            and bool((cta.reshape(-1, LANES) == cta[::LANES, None]).all())
        )
        self.present: Flags | None = None
        if whole:
            self.cta, self.warp = cta[::LANES], heads // LANES
            return
        key = cta * 64 + tid // LANES
        rows, self._row = np.unique(key, return_inverse=True)
        self._lane = tid % LANES
        self.cta, self.warp = rows // 64, rows % 64
        self.present = np.zeros((rows.size, LANES), bool)
        self.present[self._row, self._lane] = True

    def to(self, x: Bits) -> Bits:
        """A register's values by warp and lane; zeros for lanes that are elsewhere."""
        full = (x if x.shape == self.shape else np.broadcast_to(x, self.shape)).reshape(-1)
        if self.present is None:
            return full.reshape(-1, LANES)
        made = np.zeros(self.present.shape, full.dtype)
        made[self._row, self._lane] = full
        return made

    def back(self, x: Bits) -> Bits:
        """The opposite of `to`."""
        if self.present is None:
            return x.reshape(self.shape)
        taken: Bits = x[self._row, self._lane]
        return taken.reshape(self.shape)


class Frame:
    """`cta` and `tid` are (CTAs, 1) and (1, threads) in a frame of whole CTAs, else (1, threads)."""

    __slots__ = ("__dict__", "batch", "cta", "flat", "regs", "shape", "tid", "tiles")

    def __init__(self, batch: Batch, regs: list[Any], cta: Bits, tid: Bits, flat: bool) -> None:
        self.batch, self.regs, self.cta, self.tid, self.flat = batch, regs, cta, tid, flat
        self.shape = (cta.shape[0], tid.shape[1])
        self.tiles: dict[tuple[int, ...], Any] = {}  # accumulators on their way to the next wgmma

    @property
    def size(self) -> int:
        """How many threads."""
        return int(self.shape[0]) * int(self.shape[1])

    def full(self, x: Bits) -> Bits:
        """A register with one element for each thread."""
        return np.broadcast_to(x, self.shape)

    def active(self, x: Bits, mask: Mask) -> Bits:
        """The elements of a register of the threads in `mask`, one-dimensional."""
        full = x if x.shape == self.shape else np.broadcast_to(x, self.shape)
        return full.reshape(-1) if mask is None else full[np.broadcast_to(mask, self.shape)]

    @cached_property
    def warps(self) -> Warps:
        """The threads by warp."""
        return Warps(self)

    @cached_property
    def flat_index(self) -> Bits:
        """For each thread its index in the batch."""
        found = np.broadcast_to(self.cta * self.batch.threads + self.tid, self.shape)
        return found.reshape(-1)

    def put(self, slot: int, value: Bits, mask: Mask) -> None:
        """Write a register where `mask` is true. `value` has an element for every thread."""
        if mask is None:
            self.regs[slot] = value
            return
        old = self.regs[slot]
        zero = value.dtype.type(0)
        self.regs[slot] = np.where(mask, value, zero if old is None else old)

    def put_active(self, slot: int, values: Bits, mask: Flags) -> None:
        """Write a register with one value for each thread in `mask`."""
        old = self.regs[slot]
        if old is None:
            made = np.zeros(self.shape, values.dtype)
        else:
            made = np.broadcast_to(old, self.shape).astype(values.dtype)
        made[np.broadcast_to(mask, self.shape)] = values
        self.regs[slot] = made
