"""Who accesses shared memory, as columns of clocks; and what threads meet at, as rows.

Columns of a *unit* (a CTA, or the CTAs of a cluster), in this order: its warps; then, as they turn up,
what works for threads on its own:

    slot      the copy engine, writing what an mbarrier counts: the clock is the phase that it ends
    product   the wgmmas of a warpgroup, reading: the clock is their group
    bulk      the copy engine, reading shared memory for a thread: the clock is the bulk group
    copy      the `cp.async`s of a thread, writing: the clock counts commits and arrivals

Rows are the threads of the batch, then a row for each CTA of each thing that threads meet at.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from blockstep.interp.ptx.frame import LANES, Bits

WARPGROUP = 4 * LANES
KINDS = ("warp", "slot", "product", "bulk", "copy")


class Agents:
    """The columns and rows of a batch. `unit` is how many CTAs share columns."""

    def __init__(self, ctas: int, threads: int, unit: int) -> None:
        self.ctas, self.threads, self.unit = ctas, threads, unit
        self.warps = -(-self.threads // LANES)
        self.groups = -(-self.threads // WARPGROUP)
        self.columns = self.unit * self.warps
        self.rows = self.ctas * self.threads
        row = np.arange(self.rows)
        cta, tid = row // self.threads, row % self.threads
        rank = cta % self.unit
        self.warp = cta * self.warps + tid // LANES  # of each row, in the batch
        self.column = (rank * self.warps + tid // LANES).astype(np.int32)
        self.lane = (tid % LANES).astype(np.int32)
        self.bit = np.uint32(1) << self.lane.astype(np.uint32)
        lanes = np.minimum(self.threads - np.arange(self.warps) * LANES, LANES)
        live = (np.uint64(1) << lanes.astype(np.uint64)) - np.uint64(1)
        self.live = np.tile(live.astype(np.uint32), self.unit)
        self.kind = np.zeros(self.columns, np.int8)  # of each column: an index of KINDS
        self.owner = np.zeros(self.columns, np.int32)  # of each column: a thread in its CTA, or -1
        self.owner[:] = np.tile(np.arange(self.warps) * LANES, self.unit)
        self.rank = np.repeat(np.arange(self.unit), self.warps)  # of each column: its CTA
        self._columns: dict[Hashable, int] = {}
        self._rows: dict[Hashable, int] = {}

    def meeting(self, key: Hashable) -> int:
        """The first of the rows, one for each CTA, of what threads meet at."""
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = self.rows
            self.rows += self.ctas
        return found

    def slot(self, address: int) -> int:
        """The column of the mbarrier at an address of the first CTA of a unit; others follow."""
        return self._column("slot", address, np.full(self.unit, -1))

    def products(self) -> int:
        """The column of the first warpgroup; others follow, by CTA."""
        heads = np.arange(self.groups) * WARPGROUP
        return self._column("product", 0, np.tile(heads, self.unit))

    def bulk(self, tid: int) -> int:
        """The column of a thread of the first CTA; the same threads of others follow."""
        return self._column("bulk", tid, np.full(self.unit, tid))

    def copies(self) -> int:
        """The column of the first thread; others follow, by CTA."""
        return self._column("copy", 0, np.tile(np.arange(self.threads), self.unit))

    def _column(self, kind: str, which: int, owners: Bits) -> int:
        found = self._columns.get((kind, which))
        if found is None:
            found = self._columns[kind, which] = self.columns
            self.columns += owners.size
            kinds = np.full(owners.size, KINDS.index(kind), np.int8)
            self.kind = np.concatenate([self.kind, kinds])
            self.owner = np.concatenate([self.owner, owners.astype(np.int32)])
            ranks = np.repeat(np.arange(self.unit), owners.size // self.unit)
            self.rank = np.concatenate([self.rank, ranks])
        return found


__all__ = ["KINDS", "WARPGROUP", "Agents"]
