"""One access of shared memory as checkers look at it: for each lane the granules that it covers."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import Bits, Flags, Frame, Mask
from blockstep.interp.ptx.memory import item


class Look:
    """`at` (n,) are byte indices of the lanes whose access is right, `cta` and `tid` (n, 1) say
    whose they are, `granules` (n, m) what they cover."""

    def __init__(
        self, granule: int, frame: Frame, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None,
    ) -> None:  # fmt: skip
        self.granule, self.frame, self.mask = granule, frame, mask
        self.place, self.size = place, size
        self.last: Any = None  # what a checker keeps of the granules
        self.at = at if mask is not None else np.broadcast_to(at, frame.shape).reshape(-1)
        self.good = None
        if good is not None:
            self.good = good if mask is not None else np.broadcast_to(good, frame.shape).reshape(-1)
        self.cta = frame.active(frame.cta, mask)[:, None]
        self.tid = frame.active(frame.tid, mask)[:, None]
        self.granules = (self.at // granule)[:, None] + np.arange(max(size // granule, 1))
        if self.good is not None:
            for name in ("at", "cta", "tid", "granules"):
                setattr(self, name, getattr(self, name)[self.good])

    def bits(self, values: Any) -> Bits:
        """What a store writes, for each lane and granule."""
        lanes = self.at.shape if self.good is None else self.good.shape
        shape = self.frame.shape if self.mask is None else lanes
        full = np.ascontiguousarray(np.broadcast_to(values, shape)).reshape(-1)
        bits = full.view(item(self.granule)).reshape(full.size, -1)
        return bits if self.good is None else bits[self.good]

    def content(self) -> Bits:
        """What is there before."""
        memory = self.frame.batch.memory
        return memory.shared.view(item(self.granule))[self.granules]

    def tell(
        self, wrong: Flags, kind: str, what: str, related: Place | None = None,
        thread: int | None = None,
    ) -> None:  # fmt: skip
        """Report the lanes with a granule where something is wrong."""
        rows: Any = wrong.any(axis=1)
        if self.good is not None:
            full = np.zeros(self.good.shape, bool)
            full[self.good] = rows
            rows = full
        at = self.at if self.good is None else None
        flags = rows if self.mask is not None else rows.reshape(self.frame.shape)
        if at is not None and self.mask is None:
            at = at.reshape(self.frame.shape)
        self.frame.batch.report(
            self.frame, kind, what, flags, self.mask, self.place, at, self.size, related, thread
        )
