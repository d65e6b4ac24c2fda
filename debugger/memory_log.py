"""The undo log of memory: what each write replaced, so that a session can stand before it.

An entry and memory exchange their bytes: undone it holds what was written, redone what was there
before. Entries are numbered from the beginning of a run; the oldest can be dropped.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.findings import Access, Site
from blockstep.interp.memory import Storage
from blockstep.interp.reach import reach_of
from blockstep.options import Program

_SPARSE = 4  # a stretch with more than so many bytes for each byte written is kept lane by lane
_LEAST = 4096


@dataclass(slots=True, eq=False)
class Entry:
    """One write: bytes `[low, low + data.size)` of the address space, or the bytes at `at`. `line` is the
    number of the line that made it, of all lines of the run."""

    storage: Storage
    low: int
    at: Any  # byte offsets into the storage; None: the whole stretch
    data: Any
    program: Program
    site: Site
    line: int

    def swap(self) -> None:
        """Exchanges the bytes with those in memory."""
        memory = self.storage.data
        if self.at is None:
            start = self.low - self.storage.base
            part = memory[start : start + self.data.size]
            now = part.copy()
            part[...] = self.data
        else:
            now = memory[self.at]
            memory[self.at] = self.data
        self.data = now

    def touches(self, address: int, size: int) -> bool:
        """Whether a byte of an element was written."""
        if self.at is None:
            return self.low < address + size and address < self.low + self.data.size
        offset = address - self.storage.base
        return bool(np.any((self.at >= offset) & (self.at < offset + size)))

    @property
    def nbytes(self) -> int:
        """What the entry takes."""
        return int(self.data.nbytes) + (0 if self.at is None else int(self.at.nbytes)) + 200


class MemoryLog:
    """The writes of one run; `count` of them so far, of which `position` are in memory now."""

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque()
        self.first = 0  # the number of the oldest entry
        self.position = 0
        self.nbytes = 0

    @property
    def count(self) -> int:
        """How many writes there were."""
        return self.first + len(self.entries)

    def note(self, access: Access, line: int) -> Entry | None:
        """Keeps what a write is about to replace. Memory is at its present."""
        if access.storage is None:
            return None
        reach = reach_of(access)
        if not reach.count:
            return None
        entry = _entry(access, reach, line)
        self.entries.append(entry)
        self.nbytes += entry.nbytes
        self.position += 1
        return entry

    def go(self, position: int) -> None:
        """Memory as it was after so many writes. Raises IndexError before the oldest entry."""
        if position < self.first:
            raise IndexError(position)
        while self.position > position:
            self.position -= 1
            self.entries[self.position - self.first].swap()
        while self.position < position:
            self.entries[self.position - self.first].swap()
            self.position += 1

    def drop(self, before: int) -> None:
        """Forgets the writes before a number. Memory is at its present."""
        while self.first < before and self.entries:
            self.nbytes -= self.entries.popleft().nbytes
            self.first += 1


def _entry(access: Access, reach: Any, line: int) -> Entry:
    storage, low, high = access.storage, int(reach.low), int(reach.high)
    assert storage is not None
    size = access.itemsize
    if high - low <= max(_SPARSE * reach.count * size, _LEAST):
        start = low - storage.base
        kept = storage.data[start : high - storage.base].copy()
        return Entry(storage, low, None, kept, access.program, access.site, line)
    addresses = np.asarray(access.addresses)
    active = (
        addresses
        if access.mask is None
        else addresses[np.broadcast_to(access.mask, addresses.shape)]
    )
    starts = np.unique(active.reshape(-1)) - storage.base
    at = (starts[:, None] + np.arange(size)).reshape(-1)
    at = np.unique(at)  # lanes that overlap
    return Entry(storage, low, at, storage.data[at], access.program, access.site, line)


__all__ = ["Entry", "MemoryLog"]
