"""What is kept of every granule of shared memory: who wrote it last, and who has read it since when.

A write is one number: agent, clock, lane. A reader is one row of `reads`: its last clock at each
granule, and the lane. A row is made when an agent reads for the first time, and there are few: the
copy engine and wgmma read for many threads.

Mostly one agent has written all that an access covers, and every thread knows all of it: that is
seen from the least and the greatest number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.ptx.frame import Bits, Flags
from blockstep.interp.ptx.judging.clocks import SEVERAL, Clocks

_CLOCK, _AGENT = 6, 38  # first bits
_LANES = (1 << _CLOCK) - 1
_CLOCKS = (1 << (_AGENT - _CLOCK)) - 1


class Last:
    """The last writes of some granules (n, m), by numbers; 0 stands for none."""

    def __init__(self, keys: Bits) -> None:
        self.keys = keys
        self.least, self.most = int(keys.min()), int(keys.max())

    @property
    def agent(self) -> Bits:
        """Who wrote."""
        return self.keys >> _AGENT

    @property
    def clock(self) -> Bits:
        """When; 0: never."""
        return self.keys >> _CLOCK & _CLOCKS

    @property
    def lane(self) -> Bits:
        """Which lane."""
        return self.keys & _LANES

    def by(self, agents: int) -> bool:
        """Whether one of the first `agents` agents, or nobody, may have written."""
        return self.least >> _AGENT < agents

    def unknown(self, clocks: Clocks, rows: Bits) -> Flags | None:
        """Where row n does not know of the write; None: nowhere."""
        agent = self.least >> _AGENT
        if agent == self.most >> _AGENT:
            have = int(clocks.full[rows, agent].min())
            if have >= self.most >> _CLOCK & _CLOCKS:
                return None
        missing = clocks.unknown(rows, self.agent, self.clock, self.lane)
        return missing if missing.any() else None


class Shadow:
    """The shadow of `count` granules. Sites are numbers of places."""

    def __init__(self, count: int, agents: int) -> None:
        self.writes = np.zeros(count, np.int64)
        self.site = np.zeros(count, np.int32)
        self.count = count
        self.readers: list[int] = []  # agents, by row
        self._row = np.full(agents, -1, np.int32)
        self.reads = np.zeros((0, count), np.int32)
        self.read_at = np.zeros((0, count), np.int32)

    def last(self, granules: Bits) -> Last:
        """The last writes."""
        return Last(self.writes[granules])

    def wrote(self, granules: Bits, agent: Bits, clock: Bits, lane: Any, site: int) -> Bits:
        """Agents (n, 1) write granules (n, m). Gives their numbers."""
        key = agent.astype(np.int64) << _AGENT | clock.astype(np.int64) << _CLOCK | lane
        key = np.broadcast_to(key, granules.shape)
        self.writes[granules] = key
        self.site[granules] = site
        return key

    def unknown_read(self, clocks: Clocks, rows: Bits, granules: Bits, reader: int) -> Flags | None:
        """Where row n does not know of the last read by a reader; None: nowhere."""
        key, agent = self.reads[reader][granules], self.readers[reader]
        if int(clocks.full[rows, agent].min()) >= int(key.max()) >> _CLOCK:
            return None
        column = np.full((1, 1), agent, np.int32)
        missing = clocks.unknown(rows, column, key >> _CLOCK, key & _LANES)
        return missing if missing.any() else None

    def read_lane(self, reader: int, granules: Bits) -> Bits:
        """The lane of the last read by a reader."""
        found: Bits = self.reads[reader][granules] & _LANES
        return found

    def read_clock(self, reader: int, granules: Bits) -> Bits:
        """The clock of the last read by a reader."""
        found: Bits = self.reads[reader][granules] >> _CLOCK
        return found

    def read(
        self, clocks: Clocks, rows: Bits, granules: Bits, agent: Bits, clock: Bits, lane: Any,
        site: int,
    ) -> None:  # fmt: skip
        """Agents (n, 1) read granules (n, m)."""
        self._make_rows(agent)
        key = np.broadcast_to(clock << _CLOCK | lane, granules.shape)
        place = self._row[agent] * np.int64(self.count) + granules
        reads, read_at = self.reads.reshape(-1), self.read_at.reshape(-1)
        before = None if int(agent.min()) >= clocks.warps else reads[place]
        reads[place] = key
        read_at[place] = site
        if before is None:
            return
        mixed = reads[place] != key  # several lanes at once
        other = (before != 0) & (before & _LANES != lane)
        if other.any():  # an earlier lane, if nothing has ordered the two
            mixed |= other & (before >> _CLOCK > clocks.full[rows, agent])
        if mixed.any():
            reads[place[mixed]] = (key[mixed] & ~_LANES) | SEVERAL

    def _make_rows(self, agents: Bits) -> None:
        top = int(agents.max())
        if top >= self._row.size:
            self._row = np.append(self._row, np.full(top + 1 - self._row.size, -1, np.int32))
        if int(self._row[agents].min()) >= 0:
            return
        new = [a for a in np.unique(agents).tolist() if self._row[a] < 0]
        for one in new:
            self._row[one] = len(self.readers)
            self.readers.append(one)
        more = np.zeros((len(new), self.count), np.int32)
        self.reads = np.concatenate([self.reads, more])
        self.read_at = np.concatenate([self.read_at, more])
