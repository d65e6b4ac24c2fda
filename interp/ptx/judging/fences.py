"""Fences between proxies, where threads only meet at barriers of their CTA.

What a thread wrote, wgmma reads behind a `fence.proxy.async` somewhere on the way (PTX, memory
consistency model): by the thread that wrote, after it wrote; by any thread between two barriers on
the way; or by a thread that starts the wgmma, behind the barrier.
"""

from __future__ import annotations

import numpy as np

from blockstep.interp.ptx.frame import LANES, Bits, Flags

_WARPS = 4  # of a warpgroup


class Fences:
    """When threads have fenced, and when granules were written: a count of both goes on."""

    def __init__(self, ctas: int, threads: int, granules: int) -> None:
        self.now = 0
        self.when = np.zeros(granules, np.int32)
        self.fenced = np.zeros((ctas, threads), np.int32)  # when
        self.epochs = np.zeros((ctas, threads), np.int64)  # and in which epoch
        self.last = np.zeros(ctas, np.int64)  # the last epoch with a fence, by any thread
        self.before = np.zeros(ctas, np.int64)  # and the one before

    def wrote(self, granules: Bits) -> None:
        """Threads write."""
        self.now += 1
        self.when[granules] = self.now

    def fence(self, cta: Bits, tid: Bits, epoch: Bits) -> None:
        """Threads fence."""
        self.now += 1
        self.fenced[cta, tid], self.epochs[cta, tid] = self.now, epoch
        new = self.last[cta] != epoch
        self.before[cta[new]] = self.last[cta[new]]
        self.last[cta[new]] = epoch[new]

    def missing(
        self, granules: Bits, cta: Bits, head: Bits, writer: Bits, wrote: Bits, epoch: Bits
    ) -> Flags:
        """Where no fence stands between a write by `writer` in the epoch `wrote` and a wgmma of the
        warpgroup of `head`, now."""
        own = self.fenced[cta, writer] > self.when[granules]
        if own.all():
            return ~own
        last = self.last[cta]
        between = np.where(last < epoch, last, self.before[cta])
        return ~own & (between <= wrote) & (self._reader(cta, head) <= wrote)

    def _reader(self, cta: Bits, head: Bits) -> Bits:
        """The last epoch in which every warp of a warpgroup has had a lane that fenced."""
        tid = head + np.arange(_WARPS * LANES)
        by_warp = self.epochs[cta, tid].reshape(len(tid), _WARPS, LANES).max(axis=2)
        found: Bits = by_warp.min(axis=1)[:, None]
        return found
