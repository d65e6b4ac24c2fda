"""Races in shared memory by happens-before, for kernels that order threads by more than barriers of a
CTA: mbarriers, named barriers, roles of warps, clusters, the copy engine.

Two accesses race when one of them writes and whoever comes second does not know the first (`Order`).
That the copy engine and wgmma work on their own is the kind `async`: they read and write until they
have been waited for. Where one of them reads or overwrites what a thread wrote, a `fence.proxy.async`
has to stand on the way too; `cp.async` writes as threads do, and needs none that the manual names.

Not seen: accesses that only an atomic or a flag in shared memory orders count as unordered; atomics
are compared with asynchronous work only. Execution is sequentially consistent: a race is found from
the order that is missing, never from a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import Bits, Flags, Frame, Mask
from blockstep.interp.ptx.judging.agents import KINDS, WARPGROUP
from blockstep.interp.ptx.judging.look import Look
from blockstep.interp.ptx.judging.order import Order
from blockstep.interp.ptx.judging.shadow import Last, Shadow

if TYPE_CHECKING:
    from blockstep.interp.ptx.batch import Batch
    from blockstep.interp.ptx.program import Program

_READS = {"product": "a wgmma", "bulk": "a bulk copy", "slot": "a bulk copy"}


class OrderedRaces:
    """A watcher of shared memory."""

    def __init__(self, program: Program) -> None:
        self.granule = program.granule
        self.places: list[Place] = []
        self._numbers: dict[Place, int] = {}

    def begin(self, batch: Batch) -> None:
        self.batch = batch
        self.order = batch.state["order"] = Order(batch)
        self.agents = self.order.agents
        count = batch.ctas * batch.memory.row // self.granule
        self.shadow = Shadow(count, self.agents.columns)

    def end(self, batch: Batch) -> None:
        """Every thread is done: the memory of its CTA may go to another one now."""
        self.order.reserve()
        shadow, kind, known = self.shadow, self.agents.kind, self.order.known.full
        threads = np.arange(batch.ctas * batch.threads).reshape(batch.ctas, -1)
        for reader, agent in enumerate(shadow.readers):
            if kind[agent] == KINDS.index("bulk"):
                first = threads - threads % (batch.threads * self.agents.unit)
                owner = first + self.agents.rank[agent] * batch.threads + self.agents.owner[agent]
                last = shadow.read_clock(reader, np.arange(shadow.count))
                seen = known[owner[:, :1], agent]
                self._tell_left(last, seen, shadow.read_at[reader], "a bulk copy reads its memory")
        every = shadow.last(np.arange(shadow.count))
        for agent in np.flatnonzero(kind == KINDS.index("slot")).tolist():
            last = np.where(every.agent == agent, every.clock, 0)
            seen = known[threads, agent].max(axis=1, keepdims=True)
            self._tell_left(last, seen, shadow.site, "a copy into its memory goes on")

    def _tell_left(self, clocks: Bits, seen: Bits, sites: Bits, what: str) -> None:
        """`clocks` of granules, and up to which each CTA knows that they are over."""
        left = clocks.reshape(self.batch.ctas, -1) > seen
        if left.any():
            ctas = left.any(axis=1, keepdims=True)
            place = self.places[int(sites[left.reshape(-1)][0])]
            flags = np.broadcast_to(ctas, self.batch.whole.shape)
            text = f"a CTA ends while {what}"
            self.batch.report(self.batch.whole, "async", text, flags, None, place)

    def barrier(self, batch: Batch, ctas: Bits) -> None:
        return None

    def warp_barrier(self, batch: Batch, cta: Bits, warp: Bits) -> None:
        return None

    def access(
        self, frame: Frame, kind: str, space: str, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None, values: Any,
    ) -> None:  # fmt: skip
        if space != "shared" or at.size == 0:
            return
        look = Look(self.granule, frame, at, size, mask, place, good)
        if not look.granules.size:
            return
        rows = look.cta * self.batch.threads + look.tid
        self.order.reserve()  # for agents that the last access brought
        if kind == "read":
            self._read(look, rows)
        elif kind == "write":
            self._write(look, rows, values)
        elif kind == "atomic":
            self._check_writer(look, rows, "atomic on", ("copy", "slot"))
        elif kind == "async":
            self._copy(look, rows)
        elif kind == "product":
            self._product(look)
        elif kind == "bulk":
            self._bulk_read(look, rows)
        else:
            self._deposit(look, rows, kind)

    # threads

    def _read(self, look: Look, rows: Bits) -> None:
        self._check_written(look)
        self._check_writer(look, rows, "read of")
        agent, clock = self._self(rows)
        lane = self.agents.lane[rows]
        site = self._site(look.place)
        self.shadow.read(self.order.known, rows, look.granules, agent, clock, lane, site)

    def _write(self, look: Look, rows: Bits, values: Any) -> None:
        bits = look.bits(values)
        self._check_writer(look, rows, "write of", bits=bits)
        self._check_readers(look, rows, "write of", bits)
        agent, clock = self._self(rows)
        lane, site = self.agents.lane[rows], self._site(look.place)
        keys = self.shadow.wrote(look.granules, agent, clock, lane, site)
        self._check_together(look, keys, bits)

    def _check_together(self, look: Look, keys: Bits, bits: Bits) -> None:
        """Threads that write one granule in one instruction, and not the same."""
        twice = self.shadow.writes[look.granules] != keys
        if not twice.any():
            return
        last = np.zeros(self.shadow.count, bits.dtype)
        last[look.granules] = bits
        twice &= last[look.granules] != bits
        if twice.any():
            look.tell(twice, "race", "two threads write here at once", look.place)

    def _copy(self, look: Look, rows: Bits) -> None:
        self._check_writer(look, rows, "copy over")
        self._check_readers(look, rows, "copy over")
        agent = self.order.copy_columns(look.cta, look.tid)
        clock = self.order.copy_clocks(rows)
        self.shadow.wrote(look.granules, agent, clock, 0, self._site(look.place))

    # the copy engine and wgmma

    def _product(self, look: Look) -> None:
        groups = self.batch.state["products"]
        cta, warpgroup = look.cta[:, 0], look.tid[:, 0] // WARPGROUP
        new = np.ones(cta.size, bool)
        new[1:] = (cta[1:] != cta[:-1]) | (warpgroup[1:] != warpgroup[:-1])
        starts, which = np.flatnonzero(new), np.cumsum(new) - 1
        heads = cta[starts], warpgroup[starts]
        rows = self.order.product_rows(*heads)[which][:, None]
        agent = self.order.product_columns(*heads)[which][:, None]
        clock = (groups.committed[heads] + 1)[which][:, None]
        self._check_written(look)
        self._check_writer(look, rows, "read of", own=False)
        self._check_fenced(look, rows, "a wgmma reads")
        self._note_reads(look, rows, agent, clock)

    def _bulk_read(self, look: Look, rows: Bits) -> None:
        self._check_written(look)
        self._check_writer(look, rows, "read of")
        self._check_fenced(look, rows, "a bulk copy reads")
        if self.batch.signal is None:
            agent = self.order.bulk_columns(look.cta[:, 0], look.tid[:, 0])[:, None]
            clock = self.order.bulk_clocks(look.cta, look.tid)
        else:
            agent, clock = self._signal(look)
        self._note_reads(look, rows, agent, clock)

    def _deposit(self, look: Look, rows: Bits, kind: str) -> None:
        self._check_writer(look, rows, "copy over")
        self._check_readers(look, rows, "copy over")
        if kind == "engine":
            self._check_fenced(look, rows, "a bulk copy overwrites")
        agent, clock = self._signal(look)
        self.shadow.wrote(look.granules, agent, clock, 0, self._site(look.place))

    def _signal(self, look: Look) -> tuple[Bits, Bits]:
        """Column and clock of the mbarrier that counts a copy, for each lane."""
        from blockstep.interp.ptx.isa.mbarriers import Mbarriers

        assert self.batch.signal is not None
        cta, address = self.batch.signal
        if look.good is not None:
            cta, address = cta[look.good], address[look.good]
        phases = Mbarriers.of(self.batch).running(cta, address)
        agent, clock = self.order.deposits(cta, address, phases)
        return agent[:, None], clock[:, None]

    def _note_reads(self, look: Look, rows: Bits, agent: Bits, clock: Bits) -> None:
        self.shadow.read(
            self.order.known, rows, look.granules, agent, clock, 0,
            self._site(look.place),
        )  # fmt: skip

    # what is told

    def _check_written(self, look: Look) -> None:
        if self._last(look).by(1):
            missing = self._last(look).clock == 0
            if missing.any():
                look.tell(missing, "uninitialised", "shared memory")

    def _last(self, look: Look) -> Last:
        """What was written before this access."""
        found: Last | None = look.last
        if found is None:
            found = look.last = self.shadow.last(look.granules)
        return found

    def _check_writer(
        self, look: Look, rows: Bits, what: str, kinds: tuple[str, ...] = KINDS,
        bits: Bits | None = None, own: bool = True,
    ) -> None:  # fmt: skip
        last = self._last(look)
        wrong = last.unknown(self.order.known, rows)
        if wrong is None:
            return
        agent = last.agent
        if own:
            wrong &= ~self._same_thread(rows, agent, last.lane)
        if bits is not None:  # nobody can tell who wrote if all write the same
            wrong &= (agent >= self.agents.live.size) | (look.content() != bits)
        for kind in kinds:
            here = wrong & (self.agents.kind[agent] == KINDS.index(kind))
            if here.any():
                self._tell_writer(look, here, kind, what)

    def _tell_writer(self, look: Look, wrong: Flags, kind: str, what: str) -> None:
        last = self._last(look)
        agent, clock = int(last.agent[wrong][0]), int(last.clock[wrong][0])
        place = self.places[self.shadow.site[look.granules[wrong][0]]]
        thread = int(self.agents.owner[agent]) + int(last.lane[wrong][0])
        if kind == "warp":
            look.tell(wrong, "race", f"{what} what another thread writes", place, thread)
        elif kind == "copy" and self._finished(look, agent, clock):
            text = f"{what} a copy that was not waited for behind a barrier"
            look.tell(wrong, "race", text, place, thread)
        else:
            text = f"{what} a copy that was not waited for"
            look.tell(wrong, "async", text, place, thread if kind == "copy" else None)

    def _check_readers(self, look: Look, rows: Bits, what: str, bits: Bits | None = None) -> None:
        for reader, agent in enumerate(self.shadow.readers):
            wrong = self.shadow.unknown_read(self.order.known, rows, look.granules, reader)
            if wrong is None:
                continue
            lane = self.shadow.read_lane(reader, look.granules)
            wrong &= ~self._same_thread(rows, np.full_like(lane, agent), lane)
            if bits is not None and agent < self.agents.live.size:
                wrong &= look.content() != bits
            if wrong.any():
                self._tell_reader(look, wrong, reader, what)

    def _tell_reader(self, look: Look, wrong: Flags, reader: int, what: str) -> None:
        agent = self.shadow.readers[reader]
        kind = KINDS[self.agents.kind[agent]]
        spot = look.granules[wrong][:1]
        place = self.places[int(self.shadow.read_at[reader][spot][0])]
        owner = int(self.agents.owner[agent])
        if kind == "warp":
            lane = int(self.shadow.read_lane(reader, spot)[0])
            thread = owner + lane if lane < 32 else None
            look.tell(wrong, "race", f"{what} what another thread reads", place, thread)
            return
        clock = int(self.shadow.read_clock(reader, spot)[0])
        thread = owner if owner >= 0 else None
        if self._finished(look, agent, clock):
            text = f"{what} what {_READS[kind]} of another thread reads"
            look.tell(wrong, "race", text, place, thread)
        else:
            text = f"{what} what {_READS[kind]} still reads"
            look.tell(wrong, "async", text, place, thread)

    def _finished(self, look: Look, agent: int, clock: int) -> bool:
        """Whether the thread that started asynchronous work has waited for it."""
        owner = int(self.agents.owner[agent])
        if owner < 0:
            return False
        first = int(look.cta[0, 0]) // self.agents.unit * self.agents.unit
        rows = (first + np.arange(self.agents.unit)) * self.batch.threads + owner
        return bool((self.order.known.full[rows, agent] >= clock).any())

    def _check_fenced(self, look: Look, rows: Bits, what: str) -> None:
        last = self._last(look)
        if not last.by(self.agents.live.size):
            return
        wrong = last.unknown(self.order.fenced, rows)
        if wrong is None:
            return
        wrong &= (last.agent < self.agents.live.size) & (last.clock > 0)
        racing = last.unknown(self.order.known, rows)
        if racing is not None:  # what is not even ordered has been told as a race
            wrong &= ~racing | self._same_thread(rows, last.agent, last.lane)
        if wrong.any():
            thread = int(self.agents.owner[last.agent[wrong][0]]) + int(last.lane[wrong][0])
            place = self.places[self.shadow.site[look.granules[wrong][0]]]
            look.tell(wrong, "async", f"{what} what a thread wrote, unfenced", place, thread)

    # within

    def _self(self, rows: Bits) -> tuple[Bits, Bits]:
        """Column and clock of threads."""
        return self.agents.column[rows], self.order.clock[self.agents.warp[rows]]

    def _same_thread(self, rows: Bits, agent: Bits, lane: Bits) -> Flags:
        row = np.minimum(rows, self.agents.column.size - 1)
        same: Flags = (agent == self.agents.column[row]) & (lane == self.agents.lane[row])
        return same & (rows < self.agents.column.size)

    def _site(self, place: Place) -> int:
        """A small number for a place."""
        found = self._numbers.get(place)
        if found is None:
            found = self._numbers[place] = len(self.places)
            self.places.append(place)
        return found
