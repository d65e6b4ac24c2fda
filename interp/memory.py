"""Memory of a launch: storages, and the address space that they form.

Addresses are the arrays' real addresses (for device arrays: the device's), so a pointer table that
the host made holds what a kernel expects. Reads and writes go straight to the caller's memory:
nothing is copied.

Invariant: two storages of one address space never share a byte; memory that overlaps is one
storage. A load or store here trusts its caller: lanes that are not masked off lie inside the
storage (bounds are decided before, by `View.contains` and `AddressSpace.locate`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.interp.footprint import Addresses, Flags
from blockstep.interp.live import live_arrays
from blockstep.interp.owners import Memory, memory_of
from blockstep.interp.registry import Record, registry
from blockstep.interp.transfer import gather, scatter
from blockstep.interp.unwritten import Bytes
from blockstep.interp.view import Launch, View, contiguous_strides, looks_like_stride

Reach = Callable[[int, int, Any], Bytes]
TOP = 1 << 63  # no address reaches it
NULL_PAGE = 4096  # addresses below it are a null pointer and an offset


class _Stretch:
    """What NumPy needs to see memory that it does not own."""

    def __init__(self, base: int, nbytes: int, owner: Any, readonly: bool) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (base, readonly),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }


def host_bytes(base: int, nbytes: int, owner: Any, readonly: bool = False) -> Bytes:
    """The bytes at a host address, without a copy; the array keeps `owner` alive."""
    if nbytes == 0:
        return np.zeros(0, np.uint8)
    return np.asarray(_Stretch(base, nbytes, owner, readonly))


class Storage:
    """One allocation: all the bytes behind an array, whatever part of them was passed."""

    __slots__ = (
        "__weakref__",
        "_looked",
        "_reach",
        "_typed",
        "_written",
        "base",
        "data",
        "internal",
        "name",
        "nbytes",
        "owner",
        "readonly",
        "records",
        "shadow",
        "views",
    )

    def __init__(self, memory: Memory, name: str = "", reach: Reach | None = None) -> None:
        self.base, self.nbytes, self.owner = memory.base, memory.nbytes, memory.owner
        self.readonly = memory.readonly
        self.name = name
        self.internal = False  # no memory that the source could know: scratch, variables of code
        self.views: list[View] = []
        self.shadow: dict[
            str, Any
        ] = {}  # checkers' own, one slot each; lives as long as the launch
        self.records: list[Record] = []  # what the registry knows of this memory
        self._reach = reach
        self._written: Flags | None = None
        self._looked = False
        self._open()

    def _open(self) -> None:
        if self._reach is not None:
            self.data = self._reach(self.base, self.nbytes, self.owner)
        else:
            self.data = host_bytes(self.base, self.nbytes, self.owner, self.readonly)
        self._typed: dict[tuple[np.dtype[Any], int], np.ndarray[Any, Any]] = {}

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.base + self.nbytes

    def __contains__(self, address: int) -> bool:
        return self.base <= address < self.base + self.nbytes

    def __repr__(self) -> str:
        return f"Storage({self.name or 'unnamed'}, {self.nbytes} bytes)"

    def typed(self, dtype: np.dtype[Any], phase: int = 0) -> np.ndarray[Any, Any]:
        """All of it as `dtype` from byte `phase` on: `[(address - base - phase) // itemsize]`."""
        found = self._typed.get((dtype, phase))
        if found is None:
            count = max(self.nbytes - phase, 0) // dtype.itemsize
            found = self.data[phase : phase + count * dtype.itemsize].view(dtype)
            self._typed[dtype, phase] = found
        return found

    @property
    def written(self) -> Flags | None:
        """True for every byte that was written before; None when all were. Whoever stores sets it.

        The first look of a launch scans for what the host wrote, so take it before the kernel runs.
        """
        if not self._looked:
            self._looked = True
            self._written = self._look()
        return self._written

    def unwritten(self) -> Flags | None:
        """The opposite of `written`, as a fresh array; None when every byte was written."""
        return None if self.written is None else ~self.written

    def _look(self) -> Flags | None:
        known = [r for r in self.records if r.written is not None]
        if not known or self._reach is not None:
            return None
        if len(known) == 1 and (known[0].base, known[0].nbytes) == (self.base, self.nbytes):
            return known[0].look(self.data)
        written: Flags | None = None
        for record in known:
            start, stop = record.base - self.base, record.end - self.base
            inner = record.look(self.data[start:stop])
            if inner is not None:
                written = np.ones(self.nbytes, bool) if written is None else written
                written[start:stop] = inner
                record.written = written[start:stop]  # one memory: stores are seen by both
        return written

    @property
    def made_by(self) -> Record | None:
        """The record of the factory call that made the memory, if a patched one did."""
        return next((r for r in self.records if r.made_by), None)

    def absorb(self, other: Storage) -> None:
        """Become one storage with `other`, which overlaps this one. Not while a kernel runs."""
        self.owner = (self.owner, other.owner)
        base, end = min(self.base, other.base), max(self.end, other.end)
        self.base, self.nbytes = base, end - base
        self.readonly = self.readonly and other.readonly
        self.records += [r for r in other.records if r not in self.records]
        self.views += other.views
        for view in other.views:
            view.storage = self
        self._reach = self._reach or other._reach
        self._open()


class AddressSpace:
    """The storages of one launch by address; others of the process join when reached."""

    __slots__ = ("_bases", "_searched", "integers", "joined", "storages", "views")

    def __init__(self) -> None:
        self.storages: list[Storage] = []  # by base
        self.views: list[View] = []
        self.integers: dict[str, int] = {}
        self.joined: Callable[[Storage], None] | None = None  # told of each one that comes
        self._bases: list[int] = []
        self._searched = False

    def add(self, storage: Storage) -> Storage:
        """Take in a storage; what it overlaps becomes one with it. Gives the one that stays."""
        if storage.nbytes == 0:
            return storage
        if storage._reach is None:
            self._join_records(storage)
        for other in [s for s in self.storages if s.base < storage.end and storage.base < s.end]:
            if (
                other.base <= storage.base
                and storage.end <= other.end
                and storage.owner is other.owner
            ):
                return other
            self._drop(other)
            other.absorb(storage)
            storage = other
        at = bisect_right(self._bases, storage.base)
        self._bases.insert(at, storage.base)
        self.storages.insert(at, storage)
        if self.joined is not None:
            self.joined(storage)
        return storage

    def _join_records(self, storage: Storage) -> None:
        for record, memory in registry.overlapping(storage.base, storage.end):
            if not (storage.base <= record.base and record.end <= storage.end):
                storage.absorb(Storage(memory))
            storage.records.append(record)

    def _drop(self, storage: Storage) -> None:
        at = self.storages.index(storage)
        del self.storages[at], self._bases[at]

    def add_array(self, array: Any, name: str = "", internal: bool = False) -> Storage:
        """The storage behind a host array, as part of this space and known to the registry.
        `internal`: one of the machine's own, which no source reads or writes."""
        memory = memory_of(array)
        held = self.holding(memory)
        if held is not None:
            return held
        registry.register(array)
        made = Storage(memory, name)
        made.internal = internal
        return self.add(made)

    def holding(self, memory: Memory) -> Storage | None:
        """The storage of this space that has all of `memory`."""
        held = self._known(memory.base)
        return held if held is not None and memory.nbytes and memory.end <= held.end else None

    def _known(self, address: int) -> Storage | None:
        at = bisect_right(self._bases, address) - 1
        if at >= 0 and address < self.storages[at].end:
            return self.storages[at]
        return None

    def find(self, address: int) -> Storage | None:
        """The storage that holds `address`: one of the launch, or a live one of the process."""
        known = self._known(address)
        if known is not None:
            return known
        live = registry.find(address) or self._search(address)
        return None if live is None else self.add(Storage(live[1]))

    def _search(self, address: int) -> Any:
        """Once a launch every array of the process is announced; then the registry is asked again."""
        if self._searched or address < NULL_PAGE:
            return None
        self._searched = True
        for array in live_arrays():
            registry.register(array)
        return registry.find(address)

    def locate(
        self, addresses: Addresses, mask: Flags | None = None
    ) -> list[tuple[Storage | None, Flags | None]]:
        """Which lanes lie in which storage; None for addresses that belong to nothing.

        One pair with `mask` itself when all active lanes lie in one storage (or in none at all).
        """
        active = addresses if mask is None else addresses[mask]
        if active.size == 0:
            return []
        lo, hi = int(active.min()), int(active.max())
        storage, _, stop = self._around(lo)
        if hi < stop:
            return [(storage, mask)]
        found: list[tuple[Storage | None, Flags | None]] = []
        left = np.ones(addresses.shape, bool) if mask is None else mask.copy()
        nowhere = np.zeros(addresses.shape, bool)
        while left.any():
            storage, start, stop = self._around(int(addresses[left].min()))
            here = left & (addresses >= start) & (addresses <= stop - 1)
            left &= ~here
            if storage is None:
                nowhere |= here
            else:
                found.append((storage, here))
        return [*found, (None, nowhere)] if nowhere.any() else found

    def _around(self, address: int) -> tuple[Storage | None, int, int]:
        """The storage at `address` and its limits, or None and those of the gap around it."""
        storage = self.find(address)
        if storage is not None:
            return storage, storage.base, storage.end
        at = bisect_right(self._bases, address)
        following = self._bases[at] if at < len(self._bases) else TOP
        live = registry.following(address)
        return None, address, min(following, TOP if live is None else live)


__all__ = [
    "AddressSpace",
    "Launch",
    "Storage",
    "View",
    "contiguous_strides",
    "gather",
    "host_bytes",
    "looks_like_stride",
    "registry",
    "scatter",
]
