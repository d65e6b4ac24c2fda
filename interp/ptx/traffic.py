"""What memory requests cost: sectors of global memory, wavefronts of shared memory, by PTX line.

A request is one instruction of one warp. A sector is 32 bytes. Shared memory has 32 banks of 4 bytes
and serves, in one wavefront, one word of each; lanes with 8 or 16 bytes come in halves or quarters of
a warp. The least that a request can cost is what its bytes fill.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp.ptx.batch import Batch
from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import LANES, Bits, Flags, Frame, Mask

SECTOR, BANKS, WORD = 32, 32, 4


@dataclass(slots=True)
class Cost:
    """Of one line: requests, what they took, and the least that they could have."""

    space: str
    requests: int = 0
    taken: int = 0
    least: int = 0


@dataclass(slots=True)
class Traffic:
    """A watcher that counts. `costs` has the lines that touch memory."""

    costs: dict[Place, Cost] = field(default_factory=dict)

    def begin(self, batch: Batch) -> None:
        return None

    def barrier(self, batch: Batch, ctas: Bits) -> None:
        return None

    def warp_barrier(self, batch: Batch, cta: Bits, warp: Bits) -> None:
        return None

    def end(self, batch: Batch) -> None:
        return None

    def access(
        self, frame: Frame, kind: str, space: str, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None, values: Any,
    ) -> None:  # fmt: skip
        """Count one instruction. Copies by the copy engine and by wgmma are no requests of warps."""
        if space not in ("global", "shared") or kind == "product" or at.size == 0:
            return
        if np.unique(frame.flat_index).size < frame.size:
            return
        rows = _rows(frame, at, mask)
        rows = rows[(rows >= 0).any(axis=1)]
        cost = self.costs.setdefault(place, Cost(space))
        cost.requests += len(rows)
        lanes = (rows >= 0).sum(axis=1)
        if space == "global":
            cost.taken += int(_distinct(rows // SECTOR).sum())
            cost.least += int((-(-_distinct(rows) * size // SECTOR)).sum())
        else:
            cost.taken += _wavefronts(rows, size)
            cost.least += int((-(-lanes * max(size, WORD) // (BANKS * WORD))).sum())


def _rows(frame: Frame, at: Bits, mask: Mask) -> Bits:
    """Addresses by warp and lane; -1 for lanes that touch nothing."""
    full = np.full(frame.shape, -1, np.int64)
    if mask is None:
        full[:] = at
    else:
        full[np.broadcast_to(mask, frame.shape)] = at
    here = frame.warps.present
    rows = frame.warps.to(full)
    return rows if here is None else np.where(here, rows, -1)


def _distinct(rows: Bits) -> Bits:
    """How many different numbers each row has, negative ones not counted."""
    ordered = np.sort(rows, axis=1)
    new: Bits = ordered[:, 1:] != ordered[:, :-1]
    first: Bits = ordered[:, 0] >= 0
    found: Bits = (new & (ordered[:, 1:] >= 0)).sum(axis=1) + first
    return found


def _wavefronts(rows: Bits, size: int) -> int:
    words = max(size // WORD, 1)
    groups = rows.reshape(-1, LANES // min(words, LANES))
    word = (groups // WORD)[:, :, None] + np.arange(words)
    which = np.broadcast_to(np.arange(len(groups))[:, None, None], word.shape)
    used = np.broadcast_to((groups >= 0)[:, :, None], word.shape)
    pairs = np.unique(np.stack([which[used], word[used]], axis=1), axis=0)
    banks = np.bincount(pairs[:, 0] * BANKS + pairs[:, 1] % BANKS, minlength=len(groups) * BANKS)
    return int(banks.reshape(-1, BANKS).max(axis=1).sum())
