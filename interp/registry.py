"""The registry: storages that are alive somewhere in the process, by address.

Pointer tables hold addresses of arrays that are no arguments; this is how a launch finds them. It
also keeps what is known about written bytes from one launch to the next.

Invariant: the registry keeps nothing alive, and never answers for memory that has been freed, moved
or resized: a record is asked for its owner, and the owner for its address, before the record is
used.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp.footprint import Flags
from blockstep.interp.owners import Memory, memory_of
from blockstep.interp.unwritten import Bytes, look

if TYPE_CHECKING:
    from blockstep.findings import Span


class Record:
    """A registered storage: where it is, what made it, which of its bytes were written."""

    __slots__ = ("base", "made_at", "made_by", "nbytes", "owner", "written")

    def __init__(self, memory: Memory, owner: Callable[[], Any]) -> None:
        self.base, self.nbytes = memory.base, memory.nbytes
        self.owner = owner  # the object that keeps the memory alive, or None
        self.written: Flags | None = None  # None: every byte
        self.made_by: str | None = None
        self.made_at: Span | None = None

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.base + self.nbytes

    def memory(self) -> Memory | None:
        """The memory, kept alive by the answer; None if it is gone or no longer where it was."""
        owner = self.owner()
        if owner is None:
            return None
        memory = memory_of(owner)
        return memory if (memory.base, memory.nbytes) == (self.base, self.nbytes) else None

    def look(self, data: Bytes) -> Flags | None:
        """Bring `written` up to date with what the host wrote since."""
        if self.written is not None:
            self.written = look(data, self.written)
        return self.written

    def adopt(self, inner: Record) -> None:
        """Take over what is known of a record whose memory lies inside this one."""
        if self.written is None:
            self.written = np.ones(self.nbytes, bool)
        self.written[inner.base - self.base : inner.end - self.base] = inner.written

    def forget_writes(self) -> None:
        """The memory was just filled with the pattern: nothing in it is written."""
        self.written = np.zeros(self.nbytes, bool)


class Registry:
    """Live storages by address. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bases: list[int] = []  # sorted
        self._records: dict[int, Record] = {}
        self._room = 64  # records until the next purge
        self._gone: deque[Record] = deque()  # filled by finalizers, emptied under the lock

    def __len__(self) -> int:
        with self._lock:
            self._purge()
            return len(self._records)

    def register(self, array: Any) -> Record | None:
        """Remember an array's or tensor's memory. None if nothing can tell when it dies."""
        memory = memory_of(array)
        if memory.nbytes == 0:
            return None
        with self._lock:
            others = [record for record, _ in self.overlapping(memory.base, memory.end)]
            for record in others:
                if record.base <= memory.base and memory.end <= record.end:
                    return record
            inside = [r for r in others if memory.base <= r.base and r.end <= memory.end]
            for record in inside:
                self._remove(record)
            made = self._insert(memory)
            for record in inside:
                if made is not None and record.written is not None:
                    made.adopt(record)
            return made

    def find(self, address: int) -> tuple[Record, Memory] | None:
        """The live storage that holds `address`."""
        for record, memory in self.overlapping(address, address + 1):
            return record, memory
        return None

    def overlapping(self, lo: int, hi: int) -> list[tuple[Record, Memory]]:
        """All live storages with a byte in `[lo, hi)`.

        No record lies inside another, so the ends are sorted as the bases are.
        """
        found = []
        with self._lock:
            self._sweep()
            for base in self._back(lo, hi):
                record = self._records[base]
                memory = record.memory()
                if memory is None:
                    self._remove(record)
                else:
                    found.append((record, memory))
        return found

    def _back(self, lo: int, hi: int) -> list[int]:
        found = []
        at = bisect_left(self._bases, hi) - 1
        while at >= 0 and self._records[self._bases[at]].end > lo:
            found.append(self._bases[at])
            at -= 1
        return found

    def following(self, address: int) -> int | None:
        """The lowest address above `address` where a storage may begin."""
        with self._lock:
            at = bisect_right(self._bases, address)
            return self._bases[at] if at < len(self._bases) else None

    def forget(self, record: Record) -> None:
        """Drop a record."""
        with self._lock:
            self._remove(record)

    def clear(self) -> None:
        """Drop every record."""
        with self._lock:
            self._bases.clear()
            self._records.clear()

    def renew_lock(self) -> None:
        """Start over with a free lock, in a forked child."""
        self._lock = threading.RLock()

    def _insert(self, memory: Memory) -> Record | None:
        if len(self._records) >= self._room:
            self._purge()
            self._room = 2 * len(self._records) + 64
        cell: list[Record] = []
        owner = memory.weakly(lambda _: self._gone.append(cell[0]))
        if owner is None:
            return None
        record = Record(memory, owner)
        cell.append(record)
        self._records[record.base] = record
        insort(self._bases, record.base)
        return record

    def _remove(self, record: Record) -> None:
        if self._records.get(record.base) is record:
            del self._records[record.base]
            del self._bases[bisect_left(self._bases, record.base)]

    def _purge(self) -> None:
        """Drop all that is dead: nothing calls us when a torch storage dies."""
        self._sweep()
        for record in [r for r in self._records.values() if r.memory() is None]:
            self._remove(record)

    def _sweep(self) -> None:
        while self._gone:
            self._remove(self._gone.popleft())


registry = Registry()
if hasattr(os, "register_at_fork"):  # another thread may have held the lock when the process forked
    os.register_at_fork(after_in_child=registry.renew_lock)

__all__ = ["Record", "Registry", "registry"]
