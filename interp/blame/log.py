"""`WriteLog`: for every byte of memory, which access of this run wrote it last; and all accesses to
one element.

An access that writes is an *event* with a number from 1. One number a byte is kept of the memory that
is written, and three numbers an event, so the log of a launch is as large as its memory and its
stores. Of the watched element the first and last accesses are kept, the rest counted.

Invariant: the log is asked after `Bounds` has removed lanes, so every lane that it sees is executed.
"""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from blockstep.findings import MOST_ELEMENTS, Access, Program, Site
from blockstep.findings.blame import ElementAccess
from blockstep.interp.events import Checker, Flags
from blockstep.interp.memory import Storage
from blockstep.interp.reach import reach_of
from blockstep.language.frames import callers_of

KEPT = 512  # accesses of the watched element at each end


@dataclass(slots=True, eq=False)
class Watched:
    """One element: the accesses to it, in order."""

    storage: Storage
    address: int
    dtype: np.dtype[Any]
    count: int = 0
    first: list[ElementAccess] = field(default_factory=list)
    last: deque[ElementAccess] = field(default_factory=lambda: deque(maxlen=KEPT))
    stored: bool = False  # a store was heard of, and is not executed yet
    writers: deque[Program] = field(default_factory=lambda: deque(maxlen=KEPT))

    def value(self) -> Any:
        """What is in memory now."""
        at = self.address - self.storage.base
        raw = self.storage.data[at : at + self.dtype.itemsize].tobytes()
        return np.frombuffer(raw, self.dtype)[0]

    def add(self, made: ElementAccess) -> None:
        """One more access."""
        self.count += 1
        (self.first if len(self.first) < KEPT else self.last).append(made)
        if made.wrote:
            self.writers.append(made.program)

    def change_last(self, **told: Any) -> None:
        """What is known of the last access once it was executed."""
        held: Any = self.last or self.first
        held[-1] = replace(held[-1], **told)


@dataclass(frozen=True, slots=True, eq=False)
class Captured:
    """Of one access, or the part of it that lies in one storage: the lanes that were executed (None:
    all) and for each lane of the block the event that wrote its element before (0: none)."""

    lanes: Any
    before: Any
    event: int  # its own, if it writes
    new: Any = None  # of an atomic, what each executed lane's element holds after it
    changed: Any = None  # of an atomic, which lanes wrote; None: all that were executed


class WriteLog(Checker):
    """Hears of every access of a run on the step machine."""

    def __init__(self, watched: Watched | None = None, grid: Program = (1, 1, 1)) -> None:
        self.watched, self.grid = watched, grid
        self.partial = False  # whether instances ran before that may have touched the element
        self.wanted: dict[Program, Any] = {}  # tapes of the instances that are to be recorded
        self.recorded: dict[Program, Any] = {}  # of those that have begun
        self.arguments: dict[int, tuple[str, Any]] = {}  # by identity of their values
        self.captured: dict[Program, list[Captured]] = {}
        self.reads: dict[int, Any] = {}  # lanes that read each byte, by storage, if `counts`
        self.counts = False
        self._last: dict[int, tuple[Storage, Any]] = {}  # by address of a storage
        self._programs, self._nodes, self._places = array("q"), array("q"), array("i")
        self._sites: list[tuple[Site, str]] = []
        self._numbers: dict[tuple[Site, str], int] = {}

    # What was written.

    @property
    def events(self) -> int:
        """How many accesses wrote."""
        return len(self._programs)

    def program(self, event: int) -> Program:
        """Whose event it is."""
        rest, x = divmod(self._programs[event - 1], self.grid[0])
        z, y = divmod(rest, self.grid[1])
        return x, y, z

    def programs(self) -> Any:
        """The linear ids of all, from event 1 on."""
        return np.frombuffer(self._programs, np.int64) if self._programs else np.zeros(0, np.int64)

    def node(self, event: int) -> int | None:
        """The number of its operation among those of its instance, if they are recorded."""
        found = self._nodes[event - 1]
        return None if found < 0 else found

    def site(self, event: int) -> Site:
        """Where it is made."""
        return self._sites[self._places[event - 1]][0]

    def op(self, event: int) -> str:
        """What it is: "store", "atomic_add", ..."""
        return self._sites[self._places[event - 1]][1]

    def begins_before(self, address: int) -> bool:
        """Whether who wrote there first may not have been heard of."""
        w = self.watched
        return self.partial and w is not None and 0 <= address - w.address < w.dtype.itemsize

    def last(self, storage: Storage, address: int, size: int) -> int:
        """The last event that wrote one of the bytes; 0: none."""
        held = self._last.get(storage.base)
        if held is None:
            return 0
        at = address - storage.base
        return int(held[1][at : at + size].max(initial=0))

    def last_of_all(self, storage: Storage) -> Any:
        """The last event by byte of a storage; None where nothing was written."""
        held = self._last.get(storage.base)
        return None if held is None else held[1]

    # The checker.

    def argument(self, name: str, value: Any) -> None:
        """What a parameter holds; an item of a tuple is called `name[0]`."""
        items = getattr(value, "values", None)
        if items is not None:
            for number, item in enumerate(items):
                self.argument(f"{name}[{number}]", item)
        else:
            self.arguments[id(value)] = name, value

    def instance(self, program: Program) -> None:
        """A program instance begins."""
        tape = self.wanted.get(program)
        if tape is not None:
            self.recorded[program] = tape

    def access(self, access: Access) -> Flags | None:
        """Nothing is skipped."""
        reach = reach_of(access)
        storage = access.storage
        if storage is None or not reach.count:
            return None
        if self.counts and access.kind != "write":
            self._count(storage, reach.addresses, access.itemsize)
        tape = self.recorded.get(access.program)
        before = self._before(access) if tape is not None else None
        event = 0
        if access.kind == "write":
            event = self._event(access)
            self._put(storage, reach.addresses, access.itemsize, event)
        if tape is not None:
            made = Captured(access.mask, before, event)
            self.captured.setdefault(access.program, []).append(made)
        if self.watched is not None and self._meets(reach):
            self._note(access)
        return None

    def atomic(self, access: Access, old: Any, new: Any, changed: Flags | None) -> None:
        """An atomic was executed."""
        lanes = access.mask if changed is None else changed
        event = 0
        if access.storage is not None and (lanes is None or np.any(lanes)):
            event = self._event(access)
            addresses = access.addresses
            here = np.reshape(addresses, -1)
            if lanes is not None:
                here = here[np.reshape(np.broadcast_to(lanes, access.shape), -1)]
            self._put(access.storage, here, access.itemsize, event)
        held = self.captured.get(access.program)
        if access.program in self.recorded and held:
            held[-1] = replace(held[-1], event=event, new=np.array(new), changed=changed)
        if self.watched is not None and self._meets(reach_of(access)):
            wrote = bool(event) and (lanes is None or bool(np.any(self._hits(access) & lanes)))
            if np.any(self._hits(access) & _on(access)):
                self.watched.change_last(after=self.watched.value(), wrote=wrote)
                if wrote:
                    self.watched.writers.append(access.program)

    def take(self, program: Program) -> list[Captured]:
        """What was heard of the access of an instance that has just been executed."""
        return self.captured.pop(program, [])

    def settle(self) -> None:
        """A store was executed: the watched element holds what it left."""
        if self.watched is not None and self.watched.stored:
            self.watched.change_last(after=self.watched.value())
            self.watched.stored = False

    def _event(self, access: Access) -> int:
        x, y, z = access.program
        self._programs.append((z * self.grid[1] + y) * self.grid[0] + x)
        tape = self.recorded.get(access.program)
        self._nodes.append(-1 if tape is None else tape.count)
        place = access.site, access.op
        number = self._numbers.get(place)
        if number is None:
            number = self._numbers[place] = len(self._sites)
            self._sites.append(place)
        self._places.append(number)
        return len(self._programs)

    def _put(self, storage: Storage, addresses: Any, size: int, event: int) -> None:
        held = self._last.get(storage.base)
        if held is None or len(held[1]) < storage.nbytes:
            made = np.zeros(-(-storage.nbytes // 8) * 8, np.int32)
            held = self._last[storage.base] = storage, made
        _each_byte(held[1], addresses - storage.base, size, event)

    def _before(self, access: Access) -> Any:
        assert access.storage is not None
        held = self._last.get(access.storage.base)
        if held is None:
            return np.zeros(access.shape, np.int32)
        offsets = np.clip(access.addresses - access.storage.base, 0, len(held[1]) - 1)
        found = held[1][offsets]
        for byte in range(1, access.itemsize):
            at = np.minimum(offsets + byte, len(held[1]) - 1)
            found = np.maximum(found, held[1][at])
        return found

    def _count(self, storage: Storage, addresses: Any, size: int) -> None:
        held = self.reads.get(storage.base)
        if held is None or len(held) < storage.nbytes:
            held = self.reads[storage.base] = np.zeros(storage.nbytes, np.int32)
        for byte in range(size):
            np.add.at(held, addresses - storage.base + byte, 1)

    # The watched element.

    def _meets(self, reach: Any) -> bool:
        w = self.watched
        assert w is not None
        return bool(reach.low < w.address + w.dtype.itemsize and reach.high > w.address)

    def _hits(self, access: Access) -> Any:
        w = self.watched
        assert w is not None
        low, high = w.address, w.address + w.dtype.itemsize
        return (access.addresses < high) & (access.addresses + access.itemsize > low)

    def _note(self, access: Access) -> None:
        w = self.watched
        assert w is not None
        hits = np.asarray(self._hits(access) & _on(access))
        count = int(np.count_nonzero(hits))
        if not count:
            return
        value, w.stored = w.value(), access.kind == "write"
        lanes = [tuple(map(int, lane)) for lane in np.argwhere(hits)[:MOST_ELEMENTS]]
        w.add(
            ElementAccess(
                w.count, access.program, access.kind, access.op, access.site.span,
                callers_of(access.site), value, value, access.kind == "write", tuple(lanes), count,
                None if access.view is None else access.view.name, access.sem, access.scope,
            )
        )  # fmt: skip


def _on(access: Access) -> Any:
    return True if access.mask is None else access.mask


def _each_byte(table: Any, offsets: Any, size: int, value: int) -> None:
    if offsets.size and not int(np.bitwise_or.reduce(offsets)) & (size - 1):
        table[: len(table) // size * size].reshape(-1, size)[offsets // size] = value
        return
    for byte in range(size):
        table[offsets + byte] = value


__all__ = ["KEPT", "Captured", "Watched", "WriteLog"]
