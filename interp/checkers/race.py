"""Races: two program instances touch a byte, one writes, and nothing orders them.

For every byte the checker keeps the last write, and the sets of reads and of atomics since
(`interp.chains`), at the grain of the accesses (`interp.shadow`). An access conflicts with those
of other instances that are not ordered before it (`interp.clocks`). The scheme is FastTrack's
(Flanagan and Freund, PLDI 2009) with full sets where that keeps one epoch. Of each byte with a
race the first one is found, for the order in which the instances ran.

Atomics do not race with each other when they have one size and reach each other (a "cta" scope
reaches nobody else); with plain accesses they do. What a release publishes stays with the bytes
until a plain store: later atomics of other instances carry it on (a release sequence). The end of
a launch orders everything.

Reads cost next to nothing until their storage is first written in the launch: they are noted
down, and painted then.

Not seen: races of an order that did not happen (other seeds may), and what lanes of one instance
do to each other (`overlap` looks at that).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from blockstep.findings import Access, Argument, Program, RaceFound, Site, Touch, elements_of
from blockstep.interp.chains import Chains
from blockstep.interp.clocks import BLOCK, SCALAR, Clocks, Epoch, Instance
from blockstep.interp.events import Checker, Flags, Launched
from blockstep.interp.memory import Storage
from blockstep.interp.reach import Reach, reach_of
from blockstep.interp.shadow import Cells, Index, Table, distinct, put, under

WRITE, READS, ATOMICS, SYNC = "write", "reads", "atomics", "sync"
Why = Literal["plain", "relaxed", "scope", "mixed", "barrier"]
_NOTES = 32 << 20  # bytes of noted reads of one storage; past it they are painted


class Shadow(Cells):
    """What is known of one storage: the tables, and reads that are noted down only."""

    __slots__ = ("access_size", "noted", "notes", "uneven")

    def __init__(self, base: int, nbytes: int, grain: int) -> None:
        super().__init__(base, nbytes, grain)
        self.notes: list[tuple[Epoch, Reach]] | None = []  # None once painted
        self.noted = 0
        self.access_size = 0  # of the first atomic
        self.uneven = False  # atomics of several sizes or of "cta" scope: they may race


class Race(Checker):
    """Finds races. `barriers`: a release covers block accesses only after a `debug_barrier`."""

    name: ClassVar[str] = "race"

    def __init__(self, barriers: bool = True) -> None:
        self.barriers = barriers

    def launch(self, launch: Launched) -> None:
        """Nothing crosses launches: all tables start anew."""
        super().launch(launch)
        self.clocks = Clocks(self.barriers)
        self.chains = Chains(self.clocks)
        self._shadows: dict[int, tuple[Storage, Shadow]] = {}
        self._told: dict[
            object, bool
        ] = {}  # sites and class -> whether only equal values were seen
        self._now = self.clocks.of((0, 0, 0))

    def launch_end(self) -> None:
        """The tables may be large."""
        self._shadows.clear()

    def instance_end(self, program: Program) -> None:
        """What only a running instance needs is dropped."""
        self._instance(program).end()

    def barrier(self, program: Program, site: Site) -> None:
        """Orders the lanes of one instance, no others."""
        self.clocks.barrier(self.clocks.of(program))

    def access(self, access: Access) -> None:
        """Loads and stores; atomics come once they are done."""
        storage, kind = access.storage, access.kind
        if storage is None or kind == "atomic":
            return
        reach = reach_of(access)
        if not reach.count:
            return
        p = self._now
        if p.program is not access.program:
            p = self._instance(access.program)
        held = self._shadows.get(id(storage))
        shadow = self._shadow(storage, reach) if held is None else held[1]
        if kind == "write":
            self._store(access, reach, p, shadow)
        elif access.sem == "volatile":
            p.synced = len(self.chains.epochs)
            p.weak = (p.synced, "relaxed")
            self._touch_atomically(access, reach, p, shadow, writes=False)
        else:
            self._load(access, reach, p, shadow)

    def atomic(self, access: Access, old: Any, new: Any, changed: Flags | None) -> None:
        """Acquire, check, publish: in this order, so that a lock orders its own cell too."""
        if access.storage is None:
            return
        whole = reach_of(access)
        if not whole.count:
            return
        p = self._instance(access.program)
        shadow = self._shadow(access.storage, whole)
        wide = access.scope != "cta"
        sem = access.sem or "acq_rel"
        index = shadow.index(whole)  # before the tables: it may refine them
        if wide and sem in ("acquire", "acq_rel") and SYNC in shadow.tables:
            for snapshot in distinct(under(shadow.tables[SYNC], index)):
                self.clocks.acquire(p, snapshot)
        if not wide or sem != "acq_rel":
            p.weak = (len(self.chains.epochs), "relaxed" if wide else "scope")
        p.synced = len(self.chains.epochs)
        for reach, writes in _by_effect(access, whole, changed):
            self._touch_atomically(access, reach, p, shadow, writes)
        written = [reach for reach, writes in _by_effect(access, whole, changed) if writes]
        for reach in written:
            self._publish(
                access, shadow, shadow.index(reach), p, wide and sem in ("release", "acq_rel")
            )

    def _publish(
        self, access: Access, shadow: Shadow, index: Index, p: Instance, release: bool
    ) -> None:
        if not release:
            if access.op == "atomic_store" and SYNC in shadow.tables:
                put(shadow.tables[SYNC], index, 0)
            return
        sync = shadow.table(SYNC)
        before = under(sync, index)
        held = distinct(before)
        snapshot = self.clocks.release(p)
        if access.op == "atomic_store" or all(s in p.acquired for s in held if s):
            put(sync, index, snapshot)  # what is there is in the snapshot already
            return
        joined = {s: self.clocks.join(s, snapshot) for s in held}
        put(sync, index, _mapped(before, joined))

    def _instance(self, program: Program) -> Instance:
        if self._now.program != program:
            self._now = self.clocks.of(program)
        return self._now

    def _shadow(self, storage: Storage, reach: Reach) -> Shadow:
        found = self._shadows.get(id(storage))
        if found is None:
            made = Shadow(storage.base, storage.nbytes, reach.size)
            found = self._shadows[id(storage)] = (storage, made)
        return found[1]

    def _epoch(self, access: Access, p: Instance, scalar: bool, writes: bool) -> Epoch:
        stream = SCALAR if scalar else BLOCK
        clock = p.block if stream else p.scalar
        key = (access.site.key, access.op, writes, access.itemsize, clock, stream)
        e = p.epochs.get(key)
        if e is None:
            epochs = self.chains.epochs
            e = p.epochs[key] = Epoch(len(epochs), p, stream, access, writes)
            epochs.append(e)
        return e

    def _load(self, access: Access, reach: Reach, p: Instance, shadow: Shadow) -> None:
        e = self._epoch(access, p, reach.scalar, writes=False)
        if shadow.notes is not None:
            kept = reach if reach.strides is not None else reach.bare()
            shadow.notes.append((e, kept))
            shadow.noted += kept.nbytes
            if shadow.noted > _NOTES:
                self._paint(shadow)
            return
        index = shadow.index(reach)
        self._against_writes(access, reach, shadow, index, p)
        if ATOMICS in shadow.tables:
            self._against_chain(access, reach, shadow, index, p, ATOMICS, writing=False)
        self._extend(shadow, READS, index, e)

    def _paint(self, shadow: Shadow) -> None:
        """Writes the noted reads into the tables; nothing was written before, so none conflicts."""
        notes, shadow.notes = shadow.notes or [], None
        for e, reach in notes:
            self._extend(shadow, READS, shadow.index(reach), e)

    def _store(self, access: Access, reach: Reach, p: Instance, shadow: Shadow) -> None:
        if shadow.notes is not None:
            self._paint(shadow)
        if shadow.tables or not shadow.is_new(WRITE, reach):
            self._over(access, reach, p, shadow)
        e = self._epoch(access, p, reach.scalar, writes=True)
        shadow.fill(WRITE, reach, e.number)

    def _over(self, access: Access, reach: Reach, p: Instance, shadow: Shadow) -> None:
        """What a store meets, and ends."""
        index = shadow.index(reach)
        self._against_writes(access, reach, shadow, index, p)
        for name in (READS, ATOMICS):
            if name in shadow.tables:
                self._against_chain(access, reach, shadow, index, p, name, writing=True)
                put(shadow.tables[name], index, 0)
        if SYNC in shadow.tables:
            put(shadow.tables[SYNC], index, 0)

    def _touch_atomically(
        self, access: Access, reach: Reach, p: Instance, shadow: Shadow, writes: bool
    ) -> None:
        if shadow.notes is not None:
            self._paint(shadow)
        index = shadow.index(reach)
        e = self._epoch(access, p, reach.scalar, writes)
        self._against_writes(access, reach, shadow, index, p)
        if writes and READS in shadow.tables:
            self._against_chain(access, reach, shadow, index, p, READS, writing=True)
        shadow.access_size = shadow.access_size or e.size
        shadow.uneven = shadow.uneven or e.narrow or e.size != shadow.access_size
        if shadow.uneven and ATOMICS in shadow.tables:
            self._against_atomics(access, reach, shadow, index, p, e)
        self._extend(shadow, ATOMICS, index, e)

    def _extend(self, shadow: Shadow, name: str, index: Index, e: Epoch) -> None:
        table = shadow.table(name)
        before = under(table, index)
        held = distinct(before)
        if len(held) == 1:
            (chain,) = held
            put(table, index, self.chains.add(chain, e))
        else:
            to = {chain: self.chains.add(chain, e) for chain in held}
            put(table, index, _mapped(before, to))

    def _against_writes(
        self, access: Access, reach: Reach, shadow: Shadow, index: Index, p: Instance
    ) -> None:
        if shadow.is_new(WRITE, reach):
            return
        before = under(shadow.table(WRITE), index)
        for number in distinct(before):
            e = self.chains.epochs[number]
            if e is not None and e.instance is not p and not self.clocks.ordered(p, e):
                self.conflict(access, reach, shadow, before == number, e)

    def _against_chain(
        self,
        access: Access,
        reach: Reach,
        shadow: Shadow,
        index: Index,
        p: Instance,
        name: str,
        writing: bool,
    ) -> None:
        before = under(shadow.tables[name], index)
        for chain in distinct(before):
            e = self.chains.unordered(chain, p, writing)
            if e is not None:
                self.conflict(access, reach, shadow, before == chain, e)

    def _against_atomics(
        self, access: Access, reach: Reach, shadow: Shadow, index: Index, p: Instance, mine: Epoch
    ) -> None:
        before = under(shadow.tables[ATOMICS], index)
        for chain in distinct(before):
            for e in self.chains.members(chain):
                apart = e.size != mine.size or e.narrow or mine.narrow
                if apart and (e.writes or mine.writes) and not self.clocks.ordered(p, e):
                    self.conflict(access, reach, shadow, before == chain, e)
                    break

    def conflict(
        self, access: Access, reach: Reach, shadow: Shadow, cells: Flags, first: Epoch
    ) -> None:
        """A race of `first` with `access`, at the cells under it that are flagged.

        Told once for two places in the source, whichever comes first; and a store after a load that
        raced with the same place (load, add, store) is no news.
        """
        key = frozenset(((first.site.key, first.op), (access.site.key, access.op)))
        raced = self._instance(access.program).raced
        if access.kind == "read":
            raced.add(first.site.key)
        elif access.kind == "write" and first.site.key in raced:
            return
        if self._told.get(key) is False:
            return
        lanes = shadow.lanes(cells, reach.size)
        both_write = access.kind == "write" and first.writes and not first.atomic
        same = both_write and _writes_what_is_there(access, reach, lanes)
        if same and key in self._told:
            return
        self._told[key] = same
        self._tell(access, reach, lanes, first, same)

    def _tell(self, access: Access, reach: Reach, lanes: Flags, first: Epoch, same: bool) -> None:
        view = access.view
        elements = () if view is None else elements_of(view, reach.addresses[lanes])
        count = int(lanes.sum())
        p = self._instance(access.program)
        sides = [
            Touch(a.op, a.site.span, program, elements, count, sem=a.sem, scope=a.scope)
            for a, program in ((first, first.instance.program), (access, access.program))
        ]
        place, backwards = access.site, _loads_before(access, first)
        if backwards:
            place = first.site
            sides.reverse()
        self.found(
            RaceFound,
            place,
            sides[1].program,
            argument=None if view is None else Argument.of(view),
            first=sides[0],
            second=sides[1],
            same_value=same,
            why=self._why(access, first, p),
            seed=self.launched.seed,
            backwards=backwards,
        )

    def _why(self, access: Access, first: Epoch, p: Instance) -> Why:
        """What would have ordered the two, as far as that can be told."""
        if self.clocks.lacks_barrier(p, first):
            return "barrier"
        q = first.instance
        if q.synced > first.number and p.synced:
            for weak in (p.weak, q.weak if q.weak and q.weak[0] > first.number else None):
                if weak is not None:
                    return "scope" if weak[1] == "scope" else "relaxed"
        if first.atomic and access.kind == "atomic":
            return "scope" if "cta" in (first.scope, access.scope) else "plain"
        return "mixed" if first.atomic or access.kind == "atomic" else "plain"


def _loads_before(access: Access, first: Epoch) -> bool:
    """Whether a load raced with a store that stands after it in the source: load, add, store."""
    one, two = access.site, first.site
    plain = access.op == "load" and first.op == "store"
    return plain and one.code is two.code and one.lasti < two.lasti


def _mapped(values: Table, to: dict[int, int]) -> Table:
    """Each value replaced by what it maps to."""
    held = np.array(sorted(to), np.int32)
    new = np.array([to[int(value)] for value in held], np.int32)
    found: Table = new[np.searchsorted(held, values)]
    return found


def _by_effect(access: Access, whole: Reach, changed: Flags | None) -> list[tuple[Reach, bool]]:
    """The lanes that wrote, and those that only read: compare-and-swaps that failed."""
    if access.op == "atomic_load":
        return [(whole, False)]
    if changed is None or access.op != "atomic_cas":
        return [(whole, True)]
    wrote = np.broadcast_to(np.asarray(changed), access.shape)
    active = np.ones(wrote.shape, bool) if access.mask is None else access.mask
    if not (active & ~wrote).any():
        return [(whole, True)]
    if not (active & wrote).any():
        return [(whole, False)]
    size = access.itemsize
    return [
        (Reach(access.addresses, active & wrote, size), True),
        (Reach(access.addresses, active & ~wrote, size), False),
    ]


def _writes_what_is_there(access: Access, reach: Reach, lanes: Flags) -> bool:
    """Whether a store leaves the bytes of `lanes` as they are."""
    if access.value is None or access.storage is None:
        return False
    new = np.ascontiguousarray(reach.active(access.value, access.shape)[lanes])
    offsets = reach.addresses[lanes] - access.storage.base
    there = access.storage.data[offsets[:, None] + np.arange(reach.size)]
    same: bool = new.tobytes() == there.tobytes()
    return same
