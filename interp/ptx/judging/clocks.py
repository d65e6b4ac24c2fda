"""Vector clocks, as rows of one matrix: what each thread, and each thing that threads meet at, knows.

An *agent* is whoever accesses memory, and its accesses are numbered by its clock. Row r knows of agent
a all accesses up to `full[r, a]`. Lanes of a warp share an agent and are not ordered among each other,
so of a warp a row may know more of some lanes: up to `part[r, a]` of those in the bits `lanes[r, a]`.

What is joined is exact but for one thing: where the clocks of two parts differ, all their lanes count
as known up to the later one. So nothing is called unordered that is ordered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blockstep.interp.ptx.frame import LANES, Bits, Flags

_STEP = 16  # by how many columns a matrix grows
SEVERAL = LANES  # stands for the lane of an access by several lanes of a warp


@dataclass(slots=True)
class Known:
    """Rows on their own: `full` (rows, agents), `part` and `lanes` (rows, warps)."""

    full: Bits
    part: Bits
    lanes: Bits


@dataclass(slots=True)
class Own:
    """What threads know of themselves: for each its warp's column, its bit and its warp's clock."""

    columns: Bits
    bits: Bits
    clocks: Bits


class Clocks:
    """The matrix. `live` (warps,) has the bits of the lanes that a warp has; warps come first among
    the agents."""

    def __init__(self, rows: int, live: Bits) -> None:
        self.live, self.warps = live, live.size
        self.full = np.zeros((rows, self.warps), np.int32)
        self.part = np.zeros((rows, self.warps), np.int32)
        self.lanes = np.zeros((rows, self.warps), np.uint32)
        self.parts = False  # whether any row knows more of some lanes

    def reserve(self, rows: int, agents: int) -> None:
        """Make room: more rows know nothing, and of more agents nothing is known."""
        have = self.full.shape
        if rows > have[0] or agents > have[1]:
            shape = max(rows, have[0]), max(-(-agents // _STEP) * _STEP, have[1])
            self.full = _grown(self.full, shape)
        if rows > have[0]:
            self.part = _grown(self.part, (rows, self.warps))
            self.lanes = _grown(self.lanes, (rows, self.warps))

    def take(self, rows: Bits) -> Known:
        """Copies of rows."""
        if not self.parts:
            return Known(self.full[rows], *self._nothing(1))
        return Known(self.full[rows], self.part[rows], self.lanes[rows])

    def gathered(self, rows: Bits, starts: Bits, own: Own | None = None) -> Known:
        """What rows know together, for each group of them: a group begins at each of `starts`.
        With `own`, also what they themselves did."""
        full = np.maximum.reduceat(self.full[rows], starts, axis=0)
        found = Known(full, *self._nothing(len(starts)))
        if self.parts or own is not None:
            group = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
            if self.parts:
                part, lanes = self.part[rows], self.lanes[rows]
                lanes = np.where(part > full[group, : self.warps], lanes, np.uint32(0))
                part = np.where(lanes != 0, part, np.int32(0))
                part = np.maximum.reduceat(part, starts, axis=0)
                lanes = np.bitwise_or.reduceat(lanes, starts, axis=0)
                found = self.joined(found, Known(full, part, lanes))
            if own is not None:
                found = self.joined(found, self.of_own(full, group, own))
        return found

    def meet(self, blocks: Bits, size: int, own: tuple[Bits, Bits] | None = None) -> None:
        """All rows of each block, `size` of them, get to know what they know together. `own` are the
        columns and clocks (blocks, warps) of whole warps that these rows are."""
        count = self.full.shape[0] // size
        whole = int(blocks[-1]) + 1 == blocks.size
        every = slice(0, blocks.size) if whole else blocks
        full = self.full[: count * size].reshape(count, size, -1)
        top = full[every].max(axis=1)
        known = Known(top, *self._nothing(len(top)))
        if self.parts:
            part = self.part[: count * size].reshape(count, size, -1)[every]
            lanes = self.lanes[: count * size].reshape(count, size, -1)[every]
            lanes = np.where(part > top[:, None, : self.warps], lanes, np.uint32(0))
            part = np.where(lanes != 0, part, np.int32(0)).max(axis=1)
            known = self.joined(known, Known(top, part, np.bitwise_or.reduce(lanes, axis=1)))
        if own is not None:
            known.full[np.arange(len(top))[:, None], own[0]] = own[1]
        full[every] = known.full[:, None]
        if self.parts:
            self.part[: count * size].reshape(count, size, -1)[every] = known.part[:, None]
            self.lanes[: count * size].reshape(count, size, -1)[every] = known.lanes[:, None]

    def of_own(self, full: Bits, group: Bits, own: Own) -> Known:
        """What the threads of each group did themselves. `full` has a row for each group."""
        part, lanes = self._nothing(len(full))
        np.bitwise_or.at(lanes, (group, own.columns), own.bits)
        part[group, own.columns] = own.clocks
        return Known(np.zeros_like(full), part, lanes)

    def joined(self, one: Known, other: Known) -> Known:
        """What both know. Rows broadcast."""
        full = np.maximum(one.full, other.full)
        if not (one.lanes.any() or other.lanes.any()):
            return Known(full, *self._nothing(len(full)))
        top = full[:, : self.warps]
        first = np.where(one.part > top, one.lanes, np.uint32(0))
        second = np.where(other.part > top, other.lanes, np.uint32(0))
        lanes = first | second
        part = np.maximum(
            np.where(first != 0, one.part, np.int32(0)),
            np.where(second != 0, other.part, np.int32(0)),
        )
        whole = (lanes == self.live) & (part > 0)
        if whole.any():
            full[:, : self.warps] = np.where(whole, part, top)
            part[whole] = 0
            lanes[whole] = 0
        return Known(full, part, lanes)

    def learn(self, rows: Bits, news: Known) -> None:
        """Each of `rows` gets to know a row of `news` (or the only one)."""
        self.put(rows, self.joined(self.take(rows), news))

    def put(self, rows: Bits, known: Known) -> None:
        """Write rows."""
        self.full[rows] = known.full
        has = bool(known.lanes.any())
        if has or self.parts:
            self.parts = True
            self.part[rows] = known.part
            self.lanes[rows] = known.lanes

    def raise_to(self, rows: Bits, columns: Bits, clocks: Bits) -> None:
        """`rows` know of one agent each. No pair of row and column stands there twice."""
        self.full[rows, columns] = np.maximum(self.full[rows, columns], clocks)

    def unknown(self, rows: Bits, agents: Bits, clocks: Bits, lanes: Bits) -> Flags:
        """Which accesses (n, m) row n does not know; `rows` is (n, 1)."""
        width = self.full.shape[1]
        missing: Flags = self.full.reshape(-1).take(rows * width + agents) < clocks
        if self.parts and missing.any():
            at = np.nonzero(missing)
            row, agent = (np.broadcast_to(x, missing.shape)[at] for x in (rows, agents))
            clock, lane = (np.broadcast_to(x, missing.shape)[at] for x in (clocks, lanes))
            warp = np.minimum(agent, self.warps - 1)
            bit = self.lanes[row, warp] >> np.minimum(lane, LANES - 1).astype(np.uint32)
            told = (agent < self.warps) & (lane < LANES) & (bit & np.uint32(1) != 0)
            missing[at] = ~(told & (self.part[row, warp] >= clock))
        return missing

    def _nothing(self, rows: int) -> tuple[Bits, Bits]:
        shape = (rows, self.warps)
        return np.zeros(shape, np.int32), np.zeros(shape, np.uint32)


def _grown(x: Bits, shape: tuple[int, int]) -> Bits:
    made: Bits = np.zeros(shape, x.dtype)
    made[: x.shape[0], : x.shape[1]] = x
    return made
