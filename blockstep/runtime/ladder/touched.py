"""Which bytes of global memory a run reads and writes, and those that only compiled code touches.

The source's are heard of on the grid machine (on the step machine where the grid machine does not
take the launch); the compiled code's on the ptx machine. Loads that the compiler drops are no
difference, nor are stores that it drops, which show in memory; what it adds is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.findings import Access
from blockstep.interp.events import Checker
from blockstep.interp.events import Flags as Lanes
from blockstep.interp.grid.memory import Touch
from blockstep.interp.memory import AddressSpace, Storage
from blockstep.interp.ptx.batch import Watcher
from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import Bits, Flags, Frame, Mask

ALL_SET = {1: 0x01, 2: 0x0101, 4: 0x01010101, 8: 0x0101010101010101}


@dataclass(slots=True, eq=False)
class Touched(Watcher):
    """Flags for the bytes of each storage, by its address. A `Checker` of the step machine tells it,
    a hook of the grid machine, and a watcher of the ptx machine."""

    space: AddressSpace
    read: dict[int, Any] = field(default_factory=dict)
    written: dict[int, Any] = field(default_factory=dict)

    def note(self, storage: Storage, addresses: Any, size: int, reads: bool, writes: bool) -> None:
        """Elements at these addresses, all inside of a storage, are touched."""
        for kinds, on in ((self.read, reads), (self.written, writes)):
            if on:
                _mark(self._flags(kinds, storage), addresses - storage.base, size)

    def _flags(self, kinds: dict[int, Any], storage: Storage) -> Any:
        flags = kinds.get(storage.base)
        if flags is None or flags.size < storage.nbytes:
            kinds[storage.base] = np.zeros(-(-storage.nbytes // 8) * 8, np.uint8)
        return kinds[storage.base]

    def heard(self, kind: str, touch: Touch) -> None:
        """An access of the grid machine."""
        if 0 not in touch.block:
            both = kind == "atomic"
            reads, writes = both or kind == "read", both or kind == "write"
            self.note(touch.storage, touch.on(touch.dense()), touch.itemsize, reads, writes)

    # what a watcher of the ptx machine is told

    def access(
        self, frame: Frame, kind: str, space: str, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None, values: Any,
    ) -> None:  # fmt: skip
        """An access of the ptx machine."""
        if space != "global" or at.size == 0:
            return
        addresses = np.asarray(at).reshape(-1).astype(np.int64)
        both = kind == "atomic"
        for storage, lanes in self.space.locate(addresses):
            if storage is not None:
                here = addresses if lanes is None else addresses[lanes]
                here = here[(here >= storage.base) & (here + size <= storage.end)]
                self.note(storage, here, size, both or kind == "read", both or kind == "write")


class Heard(Checker):
    """Tells a `Touched` what the step machine does."""

    def __init__(self, touched: Touched) -> None:
        self.touched = touched

    def access(self, access: Access) -> Lanes | None:
        """Nothing is skipped."""
        if access.storage is not None and 0 not in access.shape:
            addresses: Any = access.addresses
            if access.mask is not None:
                addresses = addresses[np.broadcast_to(access.mask, addresses.shape)]
            both = access.kind == "atomic"
            self.touched.note(
                access.storage, np.asarray(addresses), access.itemsize,
                both or access.kind == "read", both or access.kind == "write",
            )  # fmt: skip
        return None


def _mark(flags: Any, offsets: Any, size: int) -> None:
    offsets = np.asarray(offsets).reshape(-1)
    if offsets.size == 0:
        return
    word = min(size, 8)
    if not int(np.bitwise_or.reduce(offsets)) & (word - 1):
        words = flags.view(f"u{word}")
        for part in range(size // word):
            words[offsets // word + part] = ALL_SET[word]
        return
    for byte in range(size):
        flags[offsets + byte] = 1


@dataclass(frozen=True, slots=True, eq=False)
class Beyond:
    """Bytes of one storage that the compiled code touches and the source does not."""

    storage: Storage
    writes: bool
    offsets: Any
    place: Place | None = None  # that touches the first of them


def beyond(source: Touched, compiled: Touched, known: frozenset[int]) -> Iterator[Beyond]:
    """What the compiled code touches besides, in the storages that are known: first what it writes."""
    for writes in (True, False):
        mine, theirs = (t.written if writes else t.read for t in (source, compiled))
        for base, flags in theirs.items():
            storage = compiled.space.find(base)
            if storage is None or base not in known:
                continue
            allowed = mine.get(base)
            extra = flags != 0
            if allowed is not None:
                extra[: allowed.size] &= allowed[: extra.size] == 0
            if extra.any():
                yield Beyond(storage, writes, np.flatnonzero(extra))


@dataclass(slots=True, eq=False)
class FirstAt(Watcher):
    """A watcher: the first place that reads, or writes, a byte."""

    address: int
    writes: bool
    place: Place | None = None

    def access(
        self, frame: Frame, kind: str, space: str, at: Bits, size: int, mask: Mask, place: Place,
        good: Flags | None, values: Any,
    ) -> None:  # fmt: skip
        """An access of the ptx machine."""
        wanted = ("write", "atomic") if self.writes else ("read", "atomic")
        if self.place is not None or space != "global" or kind not in wanted:
            return
        distance = self.address - np.asarray(at).astype(np.int64)
        if ((distance >= 0) & (distance < size)).any():
            self.place = place


__all__ = ["Beyond", "FirstAt", "Heard", "Touched", "beyond"]
