"""Uninit: a load of bytes that nothing has written.

Where the machine follows values, such a load is reported, at its own line, only once what it read
reaches memory, an address, a mask, a branch or a loop's bound: kernels load a whole block and
discard with `tl.where` the part that nobody wrote.

Which bytes were written is kept in `Storage.written` (one flag a byte, None for all), found at
the first look and kept up to date here. What masked lanes hold is no matter of memory:
`interp.marks` follows those values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from blockstep.findings import Access, Argument, Lanes, ReadUnwritten, elements_of
from blockstep.interp.events import Checker, Flags, Unread
from blockstep.interp.memory import Storage
from blockstep.interp.reach import Reach, reach_of
from blockstep.interp.unwritten import drawing

# What the flags of an element are, as one word, when all its bytes were written.
ALL_SET = {1: 0x01, 2: 0x0101, 4: 0x01010101, 8: 0x0101010101010101}


class Uninit(Checker):
    """Reports reads of unwritten bytes, once each access; stores and atomics make bytes written."""

    name: ClassVar[str] = "uninit"

    def access(self, access: Access) -> None:
        """Reads are judged; what a store covers is written from now on."""
        storage = access.storage
        if storage is None or storage.written is None:
            return
        reach = reach_of(access)
        if not reach.count:
            return
        if access.kind != "write" and access.op != "atomic_store":
            missing = unwritten_lanes(storage, reach)
            if missing is not None:
                self._tell(access, storage, reach, missing)
        if access.kind != "read" and access.op != "atomic_load":
            set_written(storage, reach)

    def _tell(self, access: Access, storage: Storage, reach: Reach, missing: Flags) -> None:
        written, view = storage.written, access.view
        assert written is not None
        addresses = reach.addresses[missing]
        lanes = reach.spread(missing, access.shape)
        per_byte = addresses[:, None] - storage.base + np.arange(reach.size)
        start = int(addresses.min()) - storage.base
        tell = self._once(
            access,
            op=access.op,
            argument=None if view is None else _argument(view, storage),
            lanes=Lanes.of(lanes),
            unwritten=int(np.unique(per_byte[~written[per_byte]]).size),
            drawing=drawing(storage.data, written, start),
            drawing_offset=start - start % 16 - (0 if view is None else view.base - storage.base),
            elements=() if view is None else elements_of(view, addresses),
        )
        follower = self.launched.unread
        if follower is None or access.op != "load":
            tell()
        else:
            follower.append(Unread(lanes, tell))

    def _once(self, access: Access, **fields: Any) -> Callable[[], None]:
        """A function that reports the access the first time that it is called."""
        untold = [fields]

        def tell() -> None:
            while untold:
                self.found(ReadUnwritten, access.site, access.program, **untold.pop())

        return tell


def unwritten_lanes(storage: Storage, reach: Reach) -> Flags | None:
    """The active lanes that would read a byte that nothing has written; None for none."""
    written = storage.written
    if written is None:
        return None
    start, size = reach.low - storage.base, reach.size
    if reach.packed:
        part = written[start : reach.high - storage.base]
        if part.all():
            return None
        missing: Flags = np.asarray(~part.reshape(-1, size).all(axis=1))
        return missing
    if reach.strides is not None:
        lost = written_there(written, storage, reach) != ALL_SET[size]
        return lost.reshape(-1) if lost.any() else None
    offsets = reach.addresses - storage.base
    words = _words(written, offsets, size)
    if words is not None:
        missing = words[offsets // size] != ALL_SET[size]
    else:
        missing = np.asarray(~written[offsets[:, None] + np.arange(size)].all(axis=1))
    return missing if missing.any() else None


def written_there(written: Flags, storage: Storage, reach: Reach) -> Any:
    """The flags under a regular reach, as one word an element."""
    return reach.window(written, storage.base, np.dtype(f"u{reach.size}"))


def set_written(storage: Storage, reach: Reach) -> None:
    """The bytes under the active lanes are written from now on."""
    written = storage.written
    if written is None:
        return
    if reach.packed:
        written[reach.low - storage.base : reach.high - storage.base] = True
        return
    if reach.strides is not None:
        written_there(written, storage, reach)[...] = ALL_SET[reach.size]
        return
    offsets = reach.addresses - storage.base
    words = _words(written, offsets, reach.size)
    if words is not None:
        words[offsets // reach.size] = ALL_SET[reach.size]
    else:
        written[offsets[:, None] + np.arange(reach.size)] = True


def _words(written: Flags, offsets: Any, size: int) -> Any:
    """The flags as one word an element, where all elements are aligned in the storage."""
    if size not in ALL_SET or int(np.bitwise_or.reduce(offsets)) & (size - 1):
        return None
    return written[: written.size // size * size].view(f"u{size}")


def _argument(view: Any, storage: Storage) -> Argument:
    made = storage.made_by
    argument = Argument.of(view)
    return (
        argument if made is None else replace(argument, made_by=made.made_by, made_at=made.made_at)
    )
