"""Mbarriers: arrivals and bytes that are expected, and phases.

The state is kept beside shared memory, by address, for every CTA of the batch at once. A phase ends
when no arrival is pending and all expected bytes have come; its number is the state that `arrive`
gives. A wait asks and never blocks: loops around it give way by the scheduler's fairness.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.ptx.batch import Batch
from blockstep.interp.ptx.decode import Decoder, Effect, effect
from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import Bits, Frame, Mask, distinct
from blockstep.interp.ptx.isa.registry import Instruction
from blockstep.interp.ptx.memory import RANK_SHIFT
from blockstep.interp.ptx.syntax import Sink

_OFFSET = (1 << RANK_SHIFT) - 1
Where = tuple[Bits, Bits]  # positions of CTAs, addresses in their shared memory


class Mbarriers:
    """All mbarriers of a batch: by address, (CTAs,) arrays of each part of the state."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.known: dict[int, dict[str, Bits]] = {}

    @staticmethod
    def of(batch: Batch) -> Mbarriers:
        """The mbarriers of a batch."""
        found = batch.state.get("mbarriers")
        if found is None:
            found = batch.state["mbarriers"] = Mbarriers(batch)
        made: Mbarriers = found
        return made

    def at(self, address: int) -> dict[str, Bits]:
        """The state at an address."""
        found = self.known.get(address)
        if found is None:
            names = ("valid", "count", "pending", "bytes", "phase")
            found = {name: np.zeros(self.batch.ctas, np.int64) for name in names}
            self.known[address] = found
        return found

    def running(self, cta: Bits, address: Bits) -> Bits:
        """The numbers of running phases, of mbarriers that need not be set up."""
        found = np.zeros(cta.size, np.int64)
        for one in distinct(address):
            here = address == one
            found[here] = self.at(one)["phase"][cta[here]]
        return found

    def init(self, where: Where, counts: Bits) -> None:
        """`mbarrier.init`."""
        cta, address = where
        for one in distinct(address):
            here = address == one
            state, rows = self.at(one), cta[here]
            state["valid"][rows] = 1
            state["count"][rows] = state["pending"][rows] = counts[here]
            state["bytes"][rows] = state["phase"][rows] = 0

    def forget(self, where: Where) -> None:
        """`mbarrier.inval`."""
        cta, address = where
        for one in distinct(address):
            self.at(one)["valid"][cta[address == one]] = 0

    def change(
        self, frame: Frame, where: Where, arrivals: Bits, expected: Bits, mask: Mask, place: Place
    ) -> Bits:
        """Bytes are expected (or come: negative), then threads arrive; gives the phases before."""
        cta, address = where
        before = np.zeros(cta.size, np.int64)
        self.batch.progress += 1
        self._check_order(frame, where, mask, place)
        for one in distinct(address):
            here = address == one
            state, rows = self.at(one), cta[here]
            self._check(frame, state["valid"][cta] == 0, here, mask, place)
            before[here] = state["phase"][rows]
            np.add.at(state["bytes"], rows, expected[here])
            np.subtract.at(state["pending"], rows, arrivals[here])
            self._finish(frame, one, np.unique(rows), place)
        return before

    def _check_order(self, frame: Frame, where: Where, mask: Mask, place: Place) -> None:
        """Whoever uses an mbarrier has to know that it was set up."""
        order = self.batch.order
        if order is not None:
            rows = frame.active(frame.flat_index.reshape(frame.shape), mask)
            wrong = order.unheard(rows, *where)
            if wrong.any():
                flags = wrong if mask is not None else wrong.reshape(frame.shape)
                frame.batch.report(
                    frame, "async", "an mbarrier whose setting up nothing orders before", flags,
                    mask, place,
                )  # fmt: skip

    def _check(self, frame: Frame, unknown: Bits, here: Bits, mask: Mask, place: Place) -> None:
        wrong = unknown & here
        if wrong.any():
            flags = wrong if mask is not None else wrong.reshape(frame.shape)
            frame.batch.report(
                frame, "barrier", "an mbarrier that is not set up", flags, mask, place
            )

    def _finish(self, frame: Frame, address: int, rows: Bits, place: Place) -> None:
        state = self.known[address]
        if (state["pending"][rows] < 0).any():
            frame.batch.report(
                frame, "barrier", "more arrivals than the mbarrier counts", np.ones((1, 1), bool),
                None, place,
            )  # fmt: skip
        full = rows[(state["pending"][rows] <= 0) & (state["bytes"][rows] == 0)]
        full = full[state["valid"][full] != 0]
        state["phase"][full] += 1
        state["pending"][full] = state["count"][full]
        if self.batch.order is not None and full.size:
            self.batch.order.phase_ended(address, full, state["phase"][full])

    def complete(self, frame: Frame, where: Where, sizes: Bits, mask: Mask, place: Place) -> None:
        """Bytes have come."""
        self.change(frame, where, np.zeros(sizes.size, np.int64), -sizes, mask, place)

    def phase(self, frame: Frame, where: Where, mask: Mask, place: Place) -> Bits:
        """The number of the running phase."""
        cta, address = where
        found = np.zeros(cta.size, np.int64)
        self._check_order(frame, where, mask, place)
        for one in distinct(address):
            here = address == one
            state = self.at(one)
            self._check(frame, state["valid"][cta] == 0, here, mask, place)
            found[here] = state["phase"][cta[here]]
        return found


def located(frame: Frame, address: Bits, mask: Mask) -> Where:
    """The CTA and the address in its shared memory that each active thread names."""
    a = frame.active(address.astype(np.int64), mask)
    cta, size = frame.active(frame.cta, mask), frame.batch.cluster
    rank = a >> RANK_SHIFT & 0xFF
    return np.where(rank == 0, cta, cta // size * size + rank - 1), a & _OFFSET


@effect("mbarrier")
def mbarrier(i: Instruction, d: Decoder) -> Effect:
    """All instructions that begin with `mbarrier`."""
    what = i.modifiers[0]
    if what in ("test_wait", "try_wait"):
        return _wait(i, d)
    if what in ("arrive", "arrive_drop"):
        return _arrive(i, d)
    if what not in ("init", "inval", "expect_tx", "complete_tx"):
        return d.fail(i.name)
    address, place = d.address(i.operands[0]), d.place
    amount = d.source(i.operands[1], "u32") if len(i.operands) > 1 else None

    def run(frame: Frame, mask: Mask) -> None:
        all_of, where = Mbarriers.of(frame.batch), located(frame, address(frame), mask)
        if what == "inval":
            all_of.forget(where)
            return
        assert amount is not None
        n = frame.active(frame.regs[amount], mask).astype(np.int64)
        if what == "init":
            all_of.init(where, n)
            if frame.batch.order is not None:
                frame.batch.order.set_up(frame, *where, mask)
        else:
            sign = 1 if what == "expect_tx" else -1
            all_of.change(frame, where, np.zeros(n.size, np.int64), sign * n, mask, place)

    return run


def _arrive(i: Instruction, d: Decoder) -> Effect:
    """`mbarrier.arrive{.expect_tx} state, [addr]{, n}`: the state or `_` may be left out."""
    given = list(i.operands)
    has_state = not hasattr(given[0], "base")
    put = d.result(given.pop(0) if has_state else Sink(), "b64")
    address, place = d.address(given[0]), d.place
    amount = d.source(given[1], "u32") if len(given) > 1 else None
    expects, drops = "expect_tx" in i.modifiers, i.modifiers[0] == "arrive_drop"
    relaxed = "relaxed" in i.modifiers

    def run(frame: Frame, mask: Mask) -> None:
        all_of, where = Mbarriers.of(frame.batch), located(frame, address(frame), mask)
        ones = np.ones(where[0].size, np.int64)
        n = ones if amount is None else frame.active(frame.regs[amount], mask).astype(np.int64)
        arrivals, expected = (ones, n) if expects else (n, ones * 0)
        if drops:
            for one in distinct(where[1]):
                here = where[1] == one
                np.subtract.at(all_of.at(one)["count"], where[0][here], arrivals[here])
        if frame.batch.order is not None and not relaxed:
            frame.batch.order.arrived_at(frame, *where, mask)
        before = all_of.change(frame, where, arrivals, expected, mask, place).astype(np.uint64)
        put(frame, before.reshape(frame.shape) if mask is None else before, mask)

    return run


def _wait(i: Instruction, d: Decoder) -> Effect:
    """`mbarrier.test_wait p, [addr], state` and `.parity p, [addr], parity`."""
    put, address, place = d.result(i.operands[0], "pred"), d.address(i.operands[1]), d.place
    by_parity, relaxed = "parity" in i.modifiers, "relaxed" in i.modifiers
    state = d.source(i.operands[2], "u32" if by_parity else "b64")

    def run(frame: Frame, mask: Mask) -> None:
        frame.batch.asked(True, True)
        where = located(frame, address(frame), mask)
        phase = Mbarriers.of(frame.batch).phase(frame, where, mask, place)
        asked = frame.active(frame.regs[state], mask).astype(np.int64)
        over: Any = (phase & 1) != (asked & 1) if by_parity else phase > asked
        order = frame.batch.order
        if order is not None and not relaxed:
            rows = frame.active(frame.flat_index.reshape(frame.shape), mask)
            order.waited_at(rows[over], where[0][over], where[1][over])
        put(frame, over.reshape(frame.shape) if mask is None else over, mask)

    return run


def arrive_after_copies(i: Instruction, d: Decoder) -> Effect:
    """`cp.async.mbarrier.arrive{.noinc}`: this machine's copies are done when they are issued."""
    address, place = d.address(i.operands[0]), d.place
    counts = "noinc" in i.modifiers

    def run(frame: Frame, mask: Mask) -> None:
        where = located(frame, address(frame), mask)
        n = np.full(where[0].size, int(counts), np.int64)
        if frame.batch.order is not None:
            frame.batch.order.copies_arrive(frame, *where, mask)
        Mbarriers.of(frame.batch).change(frame, where, n, n * 0, mask, place)

    return run


@effect("mapa")
def map_address(i: Instruction, d: Decoder) -> Effect:
    """`mapa d, a, rank`: the address of a variable in the shared memory of another CTA."""
    type = i.types[-1]
    put, a, rank = (
        d.result(i.operands[0], type), d.source(i.operands[1], type), d.source(i.operands[2], "u32"),
    )  # fmt: skip

    def run(frame: Frame, mask: Mask) -> None:
        base = frame.regs[a]
        kind = base.dtype.type
        window = base & ~kind(0xFF << RANK_SHIFT)
        found = window + ((frame.regs[rank].astype(kind) + kind(1)) << kind(RANK_SHIFT))
        put(frame, found if mask is None else frame.active(found, mask), mask)

    return run


@effect("getctarank")
def rank_of(i: Instruction, d: Decoder) -> Effect:
    """`getctarank d, a`: which CTA of the cluster an address belongs to."""
    type = i.types[-1]
    put, a = d.result(i.operands[0], "b32"), d.source(i.operands[1], type)

    def run(frame: Frame, mask: Mask) -> None:
        rank = frame.regs[a].astype(np.int64) >> RANK_SHIFT & 0xFF
        own = frame.cta % frame.batch.cluster
        found = np.where(rank == 0, own, rank - 1).astype(np.uint32)
        put(frame, found if mask is None else frame.active(found, mask), mask)

    return run
