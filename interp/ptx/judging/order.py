"""What orders accesses: barriers, mbarriers, waits for asynchronous work, fences between proxies.

The machine tells of them as they happen, and `Order` keeps two matrices of clocks. In `known`, a
thread knows an access that happened before whatever it does next. In `fenced`, it knows those with a
`fence.proxy.async` somewhere on the way from them (PTX, memory consistency model, proxy-preserved
base causality order: a fence between two proxies may stand anywhere along the path).

An arrival releases what its thread knows, and what the thread itself did, not what other lanes of
its warp did; for that lanes have to meet first.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from blockstep.interp.ptx.frame import LANES, Bits, Frame, Mask, distinct
from blockstep.interp.ptx.judging.agents import WARPGROUP, Agents
from blockstep.interp.ptx.judging.clocks import Clocks, Known, Own

if TYPE_CHECKING:
    from blockstep.interp.ptx.batch import Batch
    from blockstep.interp.ptx.isa.copies import Groups

_KEPT = 64  # groups of `cp.async` whose clock is remembered
_WARPS = WARPGROUP // LANES


class Order:
    """The order of everything that the threads of a batch have done so far."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.agents = agents = Agents(batch.ctas, batch.threads, batch.cluster)
        self.known = Clocks(agents.rows, agents.live)
        self.fenced = Clocks(agents.rows, agents.live)
        self.clock = np.ones(batch.ctas * agents.warps, np.int32)  # of every warp of the batch
        self.version = 0  # goes on with all that is learned
        self._views: dict[int, Bits] = {}  # version of the rows of each warpgroup
        self._copied = np.ones(agents.rows, np.int64)  # clock of `cp.async`
        self._copied_at = np.zeros((agents.rows, _KEPT), np.int64)
        self._unheard: dict[int, Bits] = {}  # rows of who set up an mbarrier, by address
        self._begun: dict[int, Bits] = {}  # and when
        self._published: dict[int, Bits] = {}
        self._phases: dict[int, tuple[Bits, Bits]] = {}

    # threads that meet

    def met(self, rows: Bits, keys: Bits) -> None:
        """Threads with the same key have met, and go on together."""
        rows, starts, group = _grouped(rows, keys)
        self.reserve()
        known = self.known.gathered(rows, starts, self._own(rows))
        self.known.put(rows, _spread(known, group))
        self.fenced.put(rows, _spread(self.fenced.gathered(rows, starts), group))
        self._tick(rows)

    def ctas_met(self, ctas: Bits) -> None:
        """All threads of these CTAs have met."""
        agents = self.agents
        warps = np.arange(agents.warps)
        columns = (ctas % agents.unit)[:, None] * agents.warps + warps
        clocks = self.clock.reshape(-1, agents.warps)
        self.reserve()
        self.known.meet(ctas, self.batch.threads, (columns, clocks[ctas]))
        self.fenced.meet(ctas, self.batch.threads)
        clocks[ctas] += 1
        self.version += 1

    def warps_met(self, frame: Frame) -> None:
        """The threads of a frame have met, warp by warp."""
        rows = frame.flat_index
        self.met(rows, self.agents.warp[rows])

    def arrived(self, rows: Bits, at: Bits) -> None:
        """Threads release what they know; `at` has the row of the meeting of each."""
        rows, starts, _ = _grouped(rows, at)
        where = np.sort(at)[starts]
        self.reserve()
        self.known.learn(where, self.known.gathered(rows, starts, self._own(rows)))
        self.fenced.learn(where, self.fenced.gathered(rows, starts))
        self._tick(rows)

    def learned(self, rows: Bits, at: Bits) -> None:
        """Threads get to know what was released; `at` has the row of the meeting of each."""
        self.reserve()
        self.known.learn(rows, self.known.take(at))
        self.fenced.learn(rows, self.fenced.take(at))
        self.version += 1

    def barrier_reached(self, rows: Bits, cta: Bits, numbers: Bits) -> None:
        """Threads have come to barriers of their CTAs."""
        self.arrived(rows, self._of("barrier", np.broadcast_to(numbers, cta.shape)) + cta)

    def barrier_left(self, rows: Bits, cta: int, number: int) -> None:
        """A barrier has opened; `rows` are those who waited at it."""
        row = self.meeting(("barrier", number)) + cta
        self.learned(rows, np.full(rows.size, row))
        self.forget(row)

    def cluster_reached(self, rows: Bits, cluster: Bits) -> None:
        """Threads have come to the barriers of their clusters."""
        self.arrived(rows, self.meeting("cluster") + cluster)

    def cluster_ended(self, cluster: int) -> None:
        """All have come."""
        gathered, ended = self.meeting("cluster") + cluster, self.meeting("cluster over") + cluster
        self.reserve()
        at = np.array([ended])
        for clocks in (self.known, self.fenced):
            clocks.put(at, clocks.take(np.array([gathered])))
        unit = self.agents.unit
        self.heard(np.arange(cluster * unit, min((cluster + 1) * unit, self.batch.ctas)))

    def cluster_left(self, rows: Bits, cluster: Bits) -> None:
        """Threads go on behind the barrier of their cluster."""
        if rows.size:
            self.learned(rows, self.meeting("cluster over") + cluster)

    def forget(self, row: int) -> None:
        """A meeting is over: the next one begins with nothing."""
        for clocks in (self.known, self.fenced):
            clocks.full[row] = clocks.part[row] = clocks.lanes[row] = 0

    def meeting(self, key: Hashable) -> int:
        """The first of the rows, one for each CTA, of what threads meet at."""
        return self.agents.meeting(key)

    def fence(self, frame: Frame, mask: Mask) -> None:
        """`fence.proxy.async`: what these threads know and did is fenced."""
        rows = frame.active(frame.flat_index.reshape(frame.shape), mask)
        self.reserve()
        known = self.known.take(rows)
        own = self.known.of_own(known.full, np.arange(rows.size), self._own(rows))
        self.fenced.learn(rows, self.known.joined(known, own))
        self._tick(rows)

    # mbarriers: a row for what has arrived, a row for what ended the last phase

    def set_up(self, frame: Frame, cta: Bits, address: Bits, mask: Mask) -> None:
        """`mbarrier.init`, by the threads of a frame."""
        rows = frame.active(frame.flat_index.reshape(frame.shape), mask)
        for one in distinct(address):
            here = address == one
            if one not in self._begun:
                self._begun[one] = np.zeros(self.batch.ctas, np.int32)
                self._unheard[one] = np.zeros(self.batch.ctas, np.int64)
                self._published[one] = np.zeros(self.batch.ctas, bool)
            self._unheard[one][cta[here]] = rows[here]
            self._begun[one][cta[here]] = self.clock[self.agents.warp[rows[here]]]
            self._published[one][cta[here]] = False
            for row in ("gathered", "ended"):
                first = self.meeting((row, one))
                self.reserve()
                for where in cta[here].tolist():
                    self.forget(first + where)
            base, last = self._phases_of(one)
            base[cta[here]] = last[cta[here]]  # phases count from 0 again, clocks go on

    def publish(self, frame: Frame, mask: Mask) -> None:
        """`fence.mbarrier_init`: the next barrier of the cluster tells of the threads' mbarriers."""
        rows = frame.active(frame.flat_index.reshape(frame.shape), mask)
        for address, makers in self._unheard.items():
            self._published[address] |= np.isin(makers, rows) & (self._begun[address] > 0)

    def heard(self, ctas: Bits) -> None:
        """The CTAs of a cluster have met: what was published is known."""
        for address, published in self._published.items():
            self._begun[address][ctas[published[ctas]]] = 0

    def unheard(self, rows: Bits, cta: Bits, address: Bits) -> Bits:
        """Which threads use an mbarrier that, for all they know, is not set up yet."""
        found = np.zeros(rows.size, bool)
        for one in distinct(address):
            if one not in self._begun:
                continue
            here = address == one
            maker, clock = self._unheard[one][cta[here]], self._begun[one][cta[here]]
            agent, lane = self.agents.column[maker], self.agents.lane[maker]
            missing = self.known.unknown(
                rows[here][:, None], agent[:, None], clock[:, None], lane[:, None]
            )[:, 0]
            found[here] = missing & (maker != rows[here])
            if rows.size == self.batch.ctas * self.batch.threads and not found.any():
                self._begun[one][:] = 0  # everybody knows
        return found

    def arrived_at(self, frame: Frame, cta: Bits, address: Bits, mask: Mask) -> None:
        """Threads arrive at mbarriers, and release."""
        rows = frame.active(frame.flat_index.reshape(frame.shape), mask)
        self.arrived(rows, self._of("gathered", address) + cta)

    def phase_ended(self, address: int, ctas: Bits, phases: Bits) -> None:
        """A phase of an mbarrier is over; `phases` are the numbers of the next ones."""
        column, (base, last) = self.agents.slot(address), self._phases_of(address)
        gathered, ended = self.meeting(("gathered", address)), self.meeting(("ended", address))
        self.reserve()
        for clocks in (self.known, self.fenced):
            clocks.put(ended + ctas, clocks.take(gathered + ctas))
        last[ctas] = np.maximum(last[ctas], base[ctas] + phases)
        self.known.full[ended + ctas, column + ctas % self.agents.unit] = base[ctas] + phases
        self.version += 1

    def waited_at(self, rows: Bits, cta: Bits, address: Bits) -> None:
        """Threads have seen that the last phase is over."""
        if rows.size:
            self.learned(rows, self._of("ended", address) + cta)

    def deposits(self, cta: Bits, address: Bits, phases: Bits) -> tuple[Bits, Bits]:
        """The columns and clocks of what mbarriers count, in their running phases."""
        columns, clocks = np.zeros(cta.size, np.int64), np.zeros(cta.size, np.int64)
        for one in distinct(address):
            here = address == one
            base, last = self._phases_of(one)
            columns[here] = self.agents.slot(one)
            clocks[here] = base[cta[here]] + phases[here] + 1
            last[cta[here]] = np.maximum(last[cta[here]], clocks[here])
        return columns + cta % self.agents.unit, clocks

    def _phases_of(self, address: int) -> tuple[Bits, Bits]:
        """Of an mbarrier, for each CTA: the clock of its phase 0, and the latest clock."""
        found = self._phases.get(address)
        if found is None:
            ctas = self.batch.ctas
            found = self._phases[address] = np.zeros(ctas, np.int64), np.zeros(ctas, np.int64)
        return found

    def _of(self, what: str, address: Bits) -> Bits:
        found = np.zeros(address.size, np.int64)
        for one in distinct(address):
            found[address == one] = self.meeting((what, one))
        return found

    # asynchronous work

    def copies_committed(self, cta: Bits, tid: Bits, groups: Groups) -> None:
        """`cp.async.commit_group`, counted already."""
        rows = cta * self.batch.threads + tid
        self._copied_at[rows, groups.committed[cta, tid] % _KEPT] = self._copied[rows]
        self._copied[rows] += 1

    def copies_waited(self, cta: Bits, tid: Bits, groups: Groups, left: int) -> None:
        """`cp.async.wait_group left`."""
        group = groups.committed[cta, tid] - left
        some = (group > 0) & (left < _KEPT)
        cta, tid, group = cta[some], tid[some], group[some]
        rows = cta * self.batch.threads + tid
        self._raise(rows, self.copy_columns(cta, tid), self._copied_at[rows, group % _KEPT])

    def copies_arrive(self, frame: Frame, cta: Bits, address: Bits, mask: Mask) -> None:
        """`cp.async.mbarrier.arrive`: what the threads have copied so far, and nothing else."""
        rows = frame.active(frame.flat_index.reshape(frame.shape), mask)
        where = self._of("gathered", address) + cta
        columns = self.copy_columns(rows // self.batch.threads, rows % self.batch.threads)
        self._raise(where, columns, self._copied[rows])
        self._copied[rows] += 1

    def copy_columns(self, cta: Bits, tid: Bits) -> Bits:
        """The columns of threads as those who copy."""
        return self.agents.copies() + cta % self.agents.unit * self.batch.threads + tid

    def copy_clocks(self, rows: Bits) -> Bits:
        """The clocks of what threads copy now."""
        return self._copied[rows]

    def product_columns(self, cta: Bits, warpgroup: Bits) -> Bits:
        """The columns of the wgmmas of warpgroups."""
        agents = self.agents
        return agents.products() + cta % agents.unit * agents.groups + warpgroup

    def products_waited(self, cta: Bits, warpgroup: Bits, done: Bits) -> None:
        """`wgmma.wait_group`: groups up to `done` of each warpgroup have read what they read."""
        columns = self.product_columns(cta, warpgroup)
        rows = (cta * self.batch.threads + warpgroup * WARPGROUP)[:, None] + np.arange(WARPGROUP)
        self._raise(rows, columns[:, None], np.maximum(done, 0)[:, None])

    def product_rows(self, cta: Bits, warpgroup: Bits) -> Bits:
        """Rows with what every warp of a warpgroup knows, as far as one lane of each knows it.

        A wgmma is one operation of a warpgroup, but each warp begins with its quarter of the rows
        as it comes."""
        found = np.zeros(cta.size, np.int64)
        for group in distinct(warpgroup):
            here = warpgroup == group
            self._view_of(group, np.unique(cta[here]))
            found[here] = self.meeting(("view", group)) + cta[here]
        return found

    def _view_of(self, group: int, ctas: Bits) -> None:
        first = self.meeting(("view", group))
        seen = self._views.setdefault(group, np.full(self.batch.ctas, -1, np.int64))
        ctas = ctas[seen[ctas] != self.version]
        if not ctas.size:
            return
        self.reserve()
        rows = (ctas * self.batch.threads + group * WARPGROUP)[:, None] + np.arange(WARPGROUP)
        rows = rows.reshape(-1)
        starts = np.arange(0, rows.size, LANES)
        known = self.known.gathered(rows, starts, self._own(rows))
        self.known.put(first + ctas, _common(known))
        self.fenced.put(first + ctas, _common(self.fenced.gathered(rows, starts)))
        seen[ctas] = self.version

    def bulk_waited(self, cta: Bits, tid: Bits, done: Bits) -> None:
        """`cp.async.bulk.wait_group{.read}`: groups up to `done` of each thread have been read."""
        some = done > 0
        if some.any():
            cta, tid = cta[some], tid[some]
            rows = cta * self.batch.threads + tid
            self._raise(rows, self.bulk_columns(cta, tid), done[some])

    def bulk_columns(self, cta: Bits, tid: Bits) -> Bits:
        """The columns of the copy engine as it reads for threads."""
        found = np.zeros(cta.size, np.int64)
        for one in distinct(tid):
            found[tid == one] = self.agents.bulk(one)
        found += cta % self.agents.unit
        return found

    def bulk_clocks(self, cta: Bits, tid: Bits) -> Bits:
        """The groups of what the copy engine reads for threads now."""
        groups: Groups = self.batch.state["bulk copies"]
        clocks: Bits = groups.committed[cta, tid] + 1
        return clocks

    # within

    def _raise(self, rows: Bits, columns: Bits, clocks: Bits) -> None:
        self.reserve()
        self.known.raise_to(rows, columns, clocks)
        self.version += 1

    def reserve(self) -> None:
        """Make room for every agent and meeting that has turned up."""
        for clocks in (self.known, self.fenced):
            clocks.reserve(self.agents.rows, self.agents.columns)

    def _own(self, rows: Bits) -> Own:
        agents = self.agents
        return Own(agents.column[rows], agents.bit[rows], self.clock[agents.warp[rows]])

    def _tick(self, rows: Bits) -> None:
        """What the warps of these threads do from now on has not been released."""
        self.clock[self.agents.warp[rows]] += 1
        self.version += 1


def _grouped(rows: Bits, keys: Bits) -> tuple[Bits, Bits, Bits]:
    """Rows ordered by key, where each group begins, and the group of each row."""
    if keys.size > 1 and (keys[1:] < keys[:-1]).any():
        order = np.argsort(keys, kind="stable")
        rows, keys = rows[order], keys[order]
    new = np.ones(keys.size, bool)
    new[1:] = keys[1:] != keys[:-1]
    return rows, np.flatnonzero(new), np.cumsum(new) - 1


def _spread(known: Known, group: Bits) -> Known:
    if len(known.full) == 1:
        return known
    return Known(known.full[group], known.part[group], known.lanes[group])


def _common(known: Known) -> Known:
    """What all warps of each warpgroup know, from what each of them knows."""
    full, part, lanes = (
        x.reshape(-1, _WARPS, x.shape[1]) for x in (known.full, known.part, known.lanes)
    )
    some = lanes != 0
    part = np.where(some, part, full[:, :, : part.shape[2]])
    lanes = np.where(some, lanes, np.uint32(0xFFFFFFFF))
    least, common = part.min(axis=1), np.bitwise_and.reduce(lanes, axis=1)
    low = full.min(axis=1)
    more = (least > low[:, : least.shape[1]]) & (common != 0)
    return Known(low, np.where(more, least, 0), np.where(more, common, np.uint32(0)))
