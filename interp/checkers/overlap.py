"""Overlap: lanes of one program instance that touch one element, with no barrier between.

The lanes of an instance run side by side. Two lanes of one store that write different values to
one byte leave either; so do two stores whose lanes fall differently on the bytes; and a load sees
what another lane stored only after a `debug_barrier`. The same lane of the same block may store
and load its element as it likes.

For every byte the checker keeps the last store of the launch to it and the lane that made it.
Numbers of stores only grow, so a barrier or a new instance clears nothing: older stores are
simply not remembered any more. Atomics are no stores: they do not tear, and they are the `race`
checker's business.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from blockstep.findings import (
    Access,
    Argument,
    LanesDisagree,
    Program,
    ReadBack,
    Site,
    StoresOverlap,
    Touch,
    elements_of,
)
from blockstep.interp.events import Checker, Flags, Launched
from blockstep.interp.memory import Storage
from blockstep.interp.reach import Addresses, Reach, reach_of
from blockstep.interp.shadow import Cells, distinct, under

LAST = "last"
_HELD = 64 << 20  # bytes of stores that an instance remembers; past it the oldest are forgotten


@dataclass(slots=True, eq=False)
class Stored:
    """A store since the last barrier of its instance, and what its bytes held before."""

    access: Access
    reach: Reach
    before: Any  # by active lane, unsigned integers

    @property
    def nbytes(self) -> int:
        """The memory that this record keeps."""
        return self.before.nbytes + self.reach.nbytes  # type: ignore[no-any-return]

    def lane_at(self, addresses: Addresses) -> npt.NDArray[np.int64]:
        """Which active lane stored to each address; -1 where its element begins elsewhere."""
        reach = self.reach
        if reach.packed:
            lanes, rest = np.divmod(addresses - reach.low, reach.size)
            return np.where(rest == 0, lanes, -1)
        order = np.argsort(reach.addresses, kind="stable")
        ordered = reach.addresses[order]
        at = np.minimum(np.searchsorted(ordered, addresses, side="right") - 1, len(ordered) - 1)
        found: npt.NDArray[np.int64] = np.where(
            (at >= 0) & (ordered[at] == addresses), order[at], -1
        )
        return found


@dataclass(slots=True, eq=False)
class _State:
    """An instance: its stores since the last barrier, and the number that all of them pass."""

    floor: int
    stores: dict[int, Stored] = field(default_factory=dict)
    held: int = 0

    def keep(self, number: int, stored: Stored) -> None:
        """Remembers a store, and forgets the oldest ones when there are too many."""
        self.stores[number] = stored
        self.held += stored.nbytes
        if self.held <= _HELD:
            return
        while self.held > _HELD and len(self.stores) > 1:
            self.held -= self.stores.pop(next(iter(self.stores))).nbytes


class Overlap(Checker):
    """Judges lanes of one store, stores over stores, and loads of what was stored."""

    name: ClassVar[str] = "overlap"

    def launch(self, launch: Launched) -> None:
        """Nothing crosses launches."""
        super().launch(launch)
        self._count = 0
        self._cells: dict[int, tuple[Storage, Cells]] = {}
        self._states: dict[Program, _State] = {}
        self._told: set[object] = set()

    def launch_end(self) -> None:
        """The tables may be large."""
        self._cells.clear()
        self._states.clear()

    def instance_end(self, program: Program) -> None:
        """What another instance does is no overlap."""
        self._states.pop(program, None)

    def barrier(self, program: Program, site: Site) -> None:
        """All lanes have met: what they stored is settled."""
        self._states[program] = _State(self._count)

    def access(self, access: Access) -> None:
        """Loads are held against the stores before; a store against itself and against those."""
        storage = access.storage
        if storage is None or access.kind == "atomic":
            return
        if access.kind == "read" and id(storage) not in self._cells:
            return
        reach = reach_of(access)
        if not reach.count:
            return
        state = self._states.get(access.program)
        if state is None:
            state = self._states[access.program] = _State(self._count)
        if access.kind == "read":
            self._load(access, reach, state)
        else:
            self._store(access, reach, storage, state)

    def _load(self, access: Access, reach: Reach, state: _State) -> None:
        assert access.storage is not None
        cells = self._cells[id(access.storage)][1]
        if cells.is_new(LAST, reach):
            return
        index = cells.index(reach)  # before the table: it may refine it
        there = under(cells.table(LAST), index)
        if _newest(there) <= state.floor:
            return
        for number in distinct(there):
            past = state.stores.get(number)
            if past is None or _same_lanes(past, access):
                continue
            self._read_back(access, reach, cells.lanes(there == number, reach.size), past)

    def _read_back(self, access: Access, reach: Reach, lanes: Flags, past: Stored) -> None:
        lanes = lanes.copy()
        lanes[lanes] = _differs_from_before(access, reach.addresses[lanes], past)
        if not lanes.any():
            return
        self._tell(ReadBack, access, reach, lanes, past)

    def _store(self, access: Access, reach: Reach, storage: Storage, state: _State) -> None:
        if not reach.rising:
            self._one_store(access, reach)
        held = self._cells.get(id(storage))
        if held is None:
            made = Cells(storage.base, storage.nbytes, reach.size)
            held = self._cells[id(storage)] = (storage, made)
        cells = held[1]
        if not cells.is_new(LAST, reach):
            index = cells.index(reach)  # before the table: it may refine it
            there = under(cells.table(LAST), index)
            for number in distinct(there) if _newest(there) > state.floor else ():
                past = state.stores.get(number)
                if past is not None and not _same_lanes(past, access):
                    self._over(access, reach, cells.lanes(there == number, reach.size), past)
        self._count += 1
        cells.fill(LAST, reach, self._count)
        state.keep(self._count, Stored(access, reach, _there(storage, reach)))

    def _over(self, access: Access, reach: Reach, lanes: Flags, past: Stored) -> None:
        """A store over another one: the same lane of equal blocks may, or the same value."""
        assert access.storage is not None
        addresses = reach.addresses[lanes]
        moved = np.ones(len(addresses), bool)
        if past.access.shape == access.shape and past.reach.size == reach.size:
            mine = _block_lanes(reach, np.flatnonzero(lanes))
            theirs = past.lane_at(addresses)
            moved = (theirs < 0) | (_block_lanes(past.reach, theirs) != mine)
        offsets = addresses[:, None] - access.storage.base + np.arange(reach.size)
        new = _bytes_of(access, reach)[lanes]
        moved &= (access.storage.data[offsets] != new).any(axis=1)
        if moved.any():
            lanes = lanes.copy()
            lanes[lanes] = moved
            self._tell(StoresOverlap, access, reach, lanes, past)

    def _tell(
        self,
        event: type[ReadBack] | type[StoresOverlap],
        access: Access,
        reach: Reach,
        lanes: Flags,
        past: Stored,
    ) -> None:
        key = (event, past.access.site.key, access.site.key)
        if key in self._told:
            return
        self._told.add(key)
        view = access.view
        elements = () if view is None else elements_of(view, reach.addresses[lanes])
        count = int(lanes.sum())
        sides = [
            Touch(a.op, a.site.span, a.program, elements, count) for a in (past.access, access)
        ]
        self.found(
            event,
            access.site,
            access.program,
            argument=None if view is None else Argument.of(view),
            first=sides[0],
            second=sides[1],
        )

    def _one_store(self, access: Access, reach: Reach) -> None:
        """Lanes of one store that meet, byte by byte."""
        ordered = np.sort(reach.addresses)
        if int((ordered[1:] - ordered[:-1]).min()) >= reach.size:
            return
        where = (reach.addresses[:, None] + np.arange(reach.size)).reshape(-1)
        order = np.argsort(where, kind="stable")
        what = _bytes_of(access, reach).reshape(-1)[order]
        meet = where[order][1:] == where[order][:-1]
        clash = np.flatnonzero(meet & (what[1:] != what[:-1]))
        if not len(clash):
            return
        key = (LanesDisagree, access.site.key)
        if key in self._told:
            return
        self._told.add(key)
        lanes = order // reach.size
        self._disagree(access, reach, int(lanes[clash[0]]), int(lanes[clash[0] + 1]), lanes[clash])

    def _disagree(
        self, access: Access, reach: Reach, one: int, two: int, all_lanes: npt.NDArray[np.int64]
    ) -> None:
        shape, view = access.shape, access.view
        values = reach.active(access.value, shape)
        address = int(reach.addresses[one])
        positions = [
            tuple(
                int(i) for i in np.unravel_index(int(_block_lanes(reach, np.array([x]))[0]), shape)
            )
            for x in (one, two)
        ]
        self.found(
            LanesDisagree,
            access.site,
            access.program,
            op=access.op,
            argument=None if view is None else Argument.of(view),
            element=() if view is None else view.element(address),
            lanes=(positions[0], positions[1]),
            values=(str(values[one]), str(values[two])),
            count=int(np.unique(reach.addresses[all_lanes]).size),
        )


def _newest(numbers: Any) -> int:
    return int(numbers.max())


def _same_lanes(past: Stored, access: Access) -> bool:
    """Whether two blocks are equal: the same elements at the same lanes, under the same mask."""
    one, two = past.access, access
    if one.itemsize != two.itemsize or one.shape != two.shape:
        return False
    a, b = past.reach, reach_of(access)
    if a.strides is not None and b.strides is not None:
        same = (a.start, a.strides, a.shape) == (b.start, b.strides, b.shape)
        return same and (a.box and a.box.limits) == (b.box and b.box.limits)
    if one.addresses is not two.addresses and not np.array_equal(one.addresses, two.addresses):
        return False
    return a.mask is b.mask or (
        a.mask is not None and b.mask is not None and np.array_equal(a.mask, b.mask)
    )


def _there(storage: Storage, reach: Reach) -> Any:
    """The bytes under the active lanes, a row a lane; a copy."""
    start = reach.low - storage.base
    if reach.packed:
        return storage.data[start : reach.high - storage.base].copy()
    if reach.strides is not None:
        held = reach.window(storage.data, storage.base, np.dtype(f"u{reach.size}"))
        return held.flatten().view(np.uint8)
    offsets = reach.addresses - storage.base
    phase = start & (reach.size - 1)
    if int(np.bitwise_or.reduce(offsets - phase)) & (reach.size - 1):
        return storage.data[offsets[:, None] + np.arange(reach.size)].reshape(-1)
    return storage.typed(np.dtype(f"u{reach.size}"), phase)[(offsets - phase) // reach.size].view(
        np.uint8
    )


def _differs_from_before(access: Access, addresses: Addresses, past: Stored) -> Flags:
    """For addresses that a store covered: whether it changed the bytes that this access reads."""
    assert access.storage is not None
    now = _there(access.storage, past.reach).reshape(-1, past.reach.size)
    changed = (now != past.before.reshape(now.shape)).reshape(-1)
    touched = (past.reach.addresses[:, None] + np.arange(past.reach.size)).reshape(-1)[changed]
    read = addresses[:, None] + np.arange(access.itemsize)
    found: Flags = np.asarray(np.isin(read, touched).any(axis=1))
    return found


def _bytes_of(access: Access, reach: Reach) -> npt.NDArray[np.uint8]:
    """What the active lanes store, a row of bytes a lane."""
    assert access.value is not None
    values = np.ascontiguousarray(reach.active(access.value, access.shape))
    return values.view(np.uint8).reshape(-1, reach.size)


def _block_lanes(reach: Reach, active: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Positions in the flat block of active lanes."""
    if reach.mask is None or reach.scalar:
        return active
    found: npt.NDArray[np.int64] = np.flatnonzero(reach.mask.reshape(-1))[active]
    return found
