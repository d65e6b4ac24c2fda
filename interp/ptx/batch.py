"""A batch: the CTAs that run at the same time, with their registers, memory and clocks.

CTAs of a cluster, and all that wait for each other, are in one batch. `seen` hands accesses to the
watchers; `report` turns lanes into a fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from blockstep.interp.memory import AddressSpace
from blockstep.interp.ptx.faults import Fault, Place, Report, Trap
from blockstep.interp.ptx.frame import Bits, Flags, Frame, Mask
from blockstep.interp.ptx.memory import Memory
from blockstep.interp.ptx.program import Program
from blockstep.interp.ptx.specials import value_of

if TYPE_CHECKING:
    from blockstep.interp.ptx.judging.order import Order

Dim3 = tuple[int, int, int]
POLLS = 1 << 20  # units of `asked` without news, after which none will come
_SURE = 52  # units of a look at what others write that shows the same again
_CYCLES = 16  # what the clock of a batch goes on with each look


class Watcher(Protocol):
    """Who hears what the threads of a batch do to memory. One that derives from it need say only
    what it does."""

    def begin(self, batch: Batch) -> None:
        """The batch is ready and nothing has run."""
        return None

    def access(
        self, frame: Frame, kind: str, space: str, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None, values: Any,
    ) -> None:  # fmt: skip
        """An access, before it happens. `kind` is read, write or atomic; async for `cp.async`;
        product for wgmma; bulk and engine for the copy engine, reading and writing; sent for `st.async`. The
        last three: `batch.signal` has CTA and address of the mbarrier that counts it, for each lane
        (None: a bulk group does). `at` has byte indices (of shared memory: into the batch's) or
        addresses, for the frame or the mask."""

    def barrier(self, batch: Batch, ctas: Bits) -> None:
        """All threads of these CTAs have met."""
        return None

    def warp_barrier(self, batch: Batch, cta: Bits, warp: Bits) -> None:
        """The lanes of these warps have met."""
        return None

    def end(self, batch: Batch) -> None:
        """Every thread is done."""
        return None


class Batch:
    """`first` is the index in the grid of its first CTA; there are `ctas` of them, in order."""

    def __init__(
        self, program: Program, grid: Dim3, block: Dim3, cluster: Dim3, first: int, ctas: int,
        space: AddressSpace, parameters: bytes, dynamic_shared: int, report: Report,
        watchers: Sequence[Watcher], symbols: dict[str, int], tensor_maps: Sequence[Any],
        seed: int, processors: int,
    ) -> None:  # fmt: skip
        self.program, self.grid, self.block, self.cluster_shape = program, grid, block, cluster
        self.ctas, self.first = ctas, first
        self.threads = block[0] * block[1] * block[2]
        self.cluster = cluster[0] * cluster[1] * cluster[2]
        self.dynamic_shared, self.processors = dynamic_shared, processors
        self.faults, self.watchers, self.tensor_maps = report, watchers, tensor_maps
        self.follows_tables = program.tables
        self.waits = program.polls or program.partial_barriers
        self.progress = self.polls = self.asks = self.time = 0
        self.random = np.random.default_rng(seed) if seed else None
        self.printed: list[tuple[Dim3, int, str]] = []
        self.state: dict[str, Any] = {}  # of instructions that keep something, by their name
        self.signal: tuple[Bits, Bits] | None = (
            None  # of a bulk copy: mbarrier of each of its lanes
        )
        self.position = self._positions()
        layout = program.layout
        self.memory = Memory(self, space, layout.shared + dynamic_shared, layout.local, parameters)
        cta = np.arange(ctas, dtype=np.int64)[:, None]
        tid = np.arange(self.threads, dtype=np.int64)[None]
        self.whole = Frame(self, self._registers(symbols), cta, tid, False)
        for watcher in watchers:
            watcher.begin(self)

    @property
    def grid_index(self) -> Bits:
        """The index in the grid of every CTA, as a column."""
        return (self.first + np.arange(self.ctas, dtype=np.int64))[:, None]

    def _positions(self) -> tuple[Bits, Bits, Bits]:
        """Where every CTA is in the grid. CTAs of a cluster follow each other."""
        index, c = self.first + np.arange(self.ctas, dtype=np.int64), self.cluster_shape
        which, rank = index // self.cluster, index % self.cluster
        found, inside, outside = [], rank, which
        for axis in range(3):
            clusters = -(-self.grid[axis] // c[axis])
            at = outside % clusters * c[axis] + inside % c[axis]
            outside, inside = outside // clusters, inside // c[axis]
            found.append(at.astype(np.uint32)[:, None])
        return found[0], found[1], found[2]

    def _registers(self, symbols: dict[str, int]) -> list[Any]:
        program = self.program
        regs: list[Any] = [None] * program.slots
        for slot, constant in (*program.constants.items(), *program.unwritten.items()):
            regs[slot] = constant
        for slot, name in program.specials.items():
            regs[slot] = value_of(name, self)
        for slot, symbol in program.symbols.items():
            regs[slot] = np.full((1, 1), symbols[symbol.name] + symbol.offset, np.uint64)
        return regs

    @contextmanager
    def signalled(self, at: tuple[Bits, Bits] | None, count: int) -> Iterator[None]:
        """What is accessed is a copy, of which `count` lanes stand for each thread: mbarriers of the
        threads (CTAs, addresses) count it; None: a bulk group does."""
        self.signal = None if at is None else (np.repeat(at[0], count), np.repeat(at[1], count))
        try:
            yield
        finally:
            self.signal = None

    @property
    def order(self) -> Order | None:
        """Who knows which accesses, where that is followed."""
        found: Order | None = self.state.get("order")
        return found

    def asked(self, openly: bool, same: bool) -> None:
        """A thread looked at memory: `openly` as one does at what others write; and saw the `same`
        as the last time. Any loop may do so for a while, so what is not open counts for little."""
        self.asks += openly
        self.polls += _SURE if openly and same else openly or same

    def clock(self, name: str) -> Bits:
        """The value of a clock, which goes on with every look."""
        self.time += _CYCLES
        if name in ("%clock64", "%globaltimer"):
            return np.full((1, 1), self.time, np.uint64)
        high = name.endswith("_hi")
        return np.full((1, 1), self.time >> 32 if high else self.time & 0xFFFFFFFF, np.uint32)

    def seen(
        self, frame: Frame, kind: str, space: str, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None = None, values: Any = None,
    ) -> None:  # fmt: skip
        """Tell the watchers of an access."""
        for watcher in self.watchers:
            watcher.access(frame, kind, space, at, size, mask, place, good, values)

    def report(
        self, frame: Frame, kind: str, what: str, wrong: Flags, mask: Mask, place: Place,
        at: Bits | None = None, size: int = 0, related: Place | None = None,
        related_thread: int | None = None,
    ) -> Fault:  # fmt: skip
        """Take down a fault of the threads that `wrong` says: of the frame, or of the mask."""
        if mask is None:
            wrong = np.broadcast_to(wrong, frame.shape).reshape(-1)
        position = int(np.argmax(wrong)) if wrong.any() else 0
        cta = frame.active(frame.cta, mask)[position]
        tid = frame.active(frame.tid, mask)[position]
        address = 0
        if at is not None:
            where = at if mask is not None else np.broadcast_to(at, frame.shape)
            address = int(where.reshape(-1)[position])
        who = frame.active(frame.flat_index.reshape(frame.shape), mask)
        count = np.unique(who[wrong]).size if wrong.any() else 0  # some stand there often
        fault = Fault(
            kind, what, place, self.cta_of(int(cta)), int(tid), count,
            address, size, related, related_thread,
        )  # fmt: skip
        self.faults.add(fault)
        return fault

    def trap(self, frame: Frame, kind: str, what: str, mask: Mask, place: Place) -> Trap:
        """The exception for a fault after which the kernel cannot go on."""
        fault = self.report(frame, kind, what, np.ones((1, 1), bool) if mask is None else
                            np.ones(frame.active(frame.tid, mask).size, bool), mask, place)  # fmt: skip
        return Trap(fault)

    def cta_of(self, position: int) -> Dim3:
        """The coordinates of a CTA of the batch."""
        x, y, z = (int(axis[position, 0]) for axis in self.position)
        return x, y, z
