"""The state spaces of a batch: global, shared, local, and the kernel's parameters.

Global memory is the launch's own storages, at their real addresses. Shared and local memory are byte
arrays, a row for each CTA or thread; their addresses begin at `SHARED_BASE` and `LOCAL_BASE`, so that
0 is in neither. Generic addresses of them lie in windows far above any host address. An address of
another CTA's shared memory (`mapa`) carries that CTA's rank in the cluster plus one above bit 24.

Invariant: an access outside of memory, or misaligned, is told (`Fault`) and has no effect: a load
gives 0. Neither is ever an exception of NumPy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp.memory import AddressSpace, Storage
from blockstep.interp.ptx.faults import Place
from blockstep.interp.ptx.frame import Bits, Flags, Frame, Mask

if TYPE_CHECKING:
    from blockstep.interp.ptx.batch import Batch

SHARED_BASE, LOCAL_BASE = 1024, 64
SHARED_WINDOW, LOCAL_WINDOW, PARAM_WINDOW = 1 << 56, 2 << 56, 3 << 56
RANK_SHIFT = 24
_ROW = 128  # bytes: rows of shared memory are a multiple
_FILL = 0xFF  # unwritten memory reads as NaNs and -1
_TYPES: dict[int, np.dtype[Any]] = {
    **{n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)},
    **{n: np.dtype(f"V{n}") for n in (16, 32)},
}
WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}


def item(size: int) -> np.dtype[Any]:
    """What an access of `size` bytes moves."""
    return _TYPES[size]


class Memory:
    """All memory that the threads of a batch can reach."""

    def __init__(
        self, batch: Batch, space: AddressSpace, shared: int, local: int, parameters: bytes
    ) -> None:
        self.batch, self.space, self.shared_size = batch, space, shared
        self.row = -(-max(shared, 1) // _ROW) * _ROW
        self.shared = np.full(batch.ctas * self.row, _FILL, np.uint8)
        self.local_row = -(-local // 32) * 32
        self.local_size = local
        self.local = np.full(batch.ctas * batch.threads * self.local_row, _FILL, np.uint8)
        self.parameters = np.frombuffer(parameters + bytes(-len(parameters) % 32), np.uint8)
        self.known: Storage | None = None
        self.allowed: dict[int, tuple[Storage, ...]] = {}  # where accesses may go, by line of PTX
        self._views: dict[tuple[str, int], Bits] = {}

    # one access: `address` is a register; with a mask only its threads take part

    def load(
        self, frame: Frame, space: str, address: Bits, size: int, mask: Mask, place: Place,
        kind: str = "read",
    ) -> Bits:  # fmt: skip
        """The items at `address`: of its shape, or one-dimensional (of the threads in `mask`).

        Of shared and local memory, the shape is that of the frame's CTAs or threads too. `kind` is
        what watchers are told: read, or product for one that goes on until it is waited for."""
        if space == "global":
            a = _signed(address) if mask is None else frame.active(_signed(address), mask)
            return self._load_global(frame, a, size, mask, place)
        if space == "generic":
            return self._generic_load(frame, address, size, mask, place)
        data, index, good = self._placed(frame, space, address, size, mask, place)
        self.batch.seen(frame, kind, space, index, size, mask, place, good)
        taken = data.take(index >> _shift(size))
        return taken if good is None else _blank(taken, good)

    def store(
        self, frame: Frame, space: str, address: Bits, values: Bits, mask: Mask, place: Place,
        kind: str = "write",
    ) -> None:  # fmt: skip
        """Write `values`, items that broadcast to the frame (or one for each thread in `mask`).

        `kind` is what watchers are told: write, or async for a copy that is waited for later."""
        size = values.dtype.itemsize
        if space == "global":
            a = _signed(address) if mask is None else frame.active(_signed(address), mask)
            if mask is None:
                a, values = np.broadcast_arrays(a, values)
            self._store_global(frame, a, values, mask, place)
            return
        if space == "generic":
            self._generic_store(frame, address, values, mask, place)
            return
        data, index, good = self._placed(frame, space, address, size, mask, place)
        if mask is None:  # one place for many threads: the last one stays
            index = np.broadcast_to(index, np.broadcast_shapes(index.shape, values.shape))
            good = None if good is None else np.broadcast_to(good, index.shape)
        self.batch.seen(frame, kind, space, index, size, mask, place, good, values)
        if good is not None:
            values = np.broadcast_to(values, index.shape)[good]
            index = index[good]
        self._put(data, index >> _shift(size), values)

    def _put(self, data: Bits, index: Bits, values: Bits) -> None:
        """Write items; where threads may wait for each other, only a change is progress."""
        if self.batch.waits:
            before = data[index].tobytes()
            data[index] = values
            self.batch.progress += before != data[index].tobytes()
        else:
            data[index] = values

    # generic addresses

    def spaces(self, frame: Frame, address: Bits, mask: Mask) -> list[tuple[str, Bits, Mask]]:
        """Generic addresses by the space they lie in, each with its own addresses and mask."""
        top = frame.active(address, mask) >> np.uint64(56)
        if top.size == 0:
            return []
        low, high = int(top.min()), int(top.max())
        if low == high:
            name = _space_at(low)
            return [(name, address - np.uint64(WINDOWS.get(name, 0)), mask)]
        found: list[tuple[str, Bits, Mask]] = []
        everywhere = frame.full(address) >> np.uint64(56)
        for number in np.unique(top).tolist():
            here = everywhere == number
            name = _space_at(number)
            part = here if mask is None else here & mask
            found.append((name, address - np.uint64(WINDOWS.get(name, 0)), part))
        return found

    def _generic_load(
        self, frame: Frame, address: Bits, size: int, mask: Mask, place: Place
    ) -> Bits:
        parts = self.spaces(frame, address, mask)
        if len(parts) == 1:
            return self.load(frame, parts[0][0], parts[0][1], size, mask, place)
        made = np.zeros(frame.shape, item(size))
        for space, inside, part in parts:
            assert part is not None
            made[part] = self.load(frame, space, inside, size, part, place)
        return made if mask is None else frame.active(made, mask)

    def _generic_store(
        self, frame: Frame, address: Bits, values: Bits, mask: Mask, place: Place
    ) -> None:
        parts = self.spaces(frame, address, mask)
        if len(parts) == 1:
            self.store(frame, parts[0][0], parts[0][1], values, mask, place)
            return
        full = np.zeros(frame.shape, values.dtype)
        full[np.broadcast_to(np.True_ if mask is None else mask, frame.shape)] = (
            np.broadcast_to(values, frame.shape).reshape(-1) if mask is None else values
        )
        for space, inside, part in parts:
            self.store(frame, space, inside, frame.active(full, part), part, place)

    # shared, local, parameters

    def _placed(
        self, frame: Frame, space: str, address: Bits, size: int, mask: Mask, place: Place
    ) -> tuple[Bits, Bits, Flags | None]:
        """The bytes of a space as items, byte indices into them, and which are right (None: all)."""
        a = address.astype(np.int64)
        if space == "shared":
            index, limit = self._shared_offsets(frame, a), self.shared_size
            start = frame.cta * self.row if self.batch.cluster == 1 else self._home(frame, a)
        elif space == "local":
            index, limit = a - LOCAL_BASE, self.local_size
            start = (frame.cta * self.batch.threads + frame.tid) * self.local_row
        else:
            index, limit, start = a, self.parameters.size, np.zeros((1, 1), np.int64)
        if mask is not None:
            index, start = frame.active(index, mask), frame.active(start, mask)
        good = self._judged(frame, space, index, limit, size, mask, place)
        if good is not None:
            index = np.where(good, index, 0)
            good = np.broadcast_to(good, np.broadcast_shapes(index.shape, start.shape))
        return self.view(space, size), start + index, good

    def _shared_offsets(self, frame: Frame, a: Bits) -> Bits:
        return (a if self.batch.cluster == 1 else a & ((1 << RANK_SHIFT) - 1)) - SHARED_BASE

    def _home(self, frame: Frame, a: Bits) -> Bits:
        """Where the shared memory begins that an address of a cluster is in."""
        rank, size = a >> RANK_SHIFT, self.batch.cluster
        other = frame.cta // size * size + rank - 1
        return np.where(rank == 0, frame.cta, other) * self.row

    def _judged(
        self, frame: Frame, space: str, index: Bits, limit: int, size: int, mask: Mask, place: Place
    ) -> Flags | None:
        if index.size == 0:
            return None
        ok = int(index.min()) >= 0 and int(index.max()) + size <= limit
        base = LOCAL_BASE if space == "local" else SHARED_BASE if space == "shared" else 0
        assert base % 32 == 0
        aligned = size == 1 or not int(np.bitwise_or.reduce(index, axis=None)) & (size - 1)
        if ok and aligned:
            return None
        inside = (index >= 0) & (index + size <= limit)
        straight = index & (size - 1) == 0
        self._tell(frame, "out-of-bounds", f"{space} memory", ~inside, index, size, mask, place)
        wrong = inside & ~straight
        self._tell(frame, "alignment", f"{space} memory", wrong, index, size, mask, place)
        good: Flags = inside & straight
        return good

    def _tell(
        self, frame: Frame, kind: str, what: str, wrong: Flags, at: Bits, size: int, mask: Mask,
        place: Place,
    ) -> None:  # fmt: skip
        if wrong.any():
            self.batch.report(frame, kind, what, wrong, mask, place, at, size)

    def view(self, space: str, size: int) -> Bits:
        """All bytes of shared, local or parameter memory as items of `size`."""
        found = self._views.get((space, size))
        if found is None:
            data = self.parameters if space == "param" else getattr(self, space)
            found = self._views[space, size] = data.view(item(size))
        return found

    # global

    def _load_global(self, frame: Frame, a: Bits, size: int, mask: Mask, place: Place) -> Bits:
        storage = self._one_storage(a, size)
        if storage is None:
            return self._load_apart(frame, a, size, mask, place)
        self.check_origin(frame, storage, a, size, mask, place)
        self.batch.seen(frame, "read", "global", a, size, mask, place)
        if storage.written is not None:
            self._check_written(frame, storage, a, size, mask, place)
        typed, index = _typed(storage, a, size)
        return typed.take(index)

    def _store_global(self, frame: Frame, a: Bits, values: Bits, mask: Mask, place: Place) -> None:
        size = values.dtype.itemsize
        storage = self._one_storage(a, size)
        if storage is None or storage.readonly:
            self._store_apart(frame, a, values, mask, place)
            return
        self.check_origin(frame, storage, a, size, mask, place)
        self.batch.seen(frame, "write", "global", a, size, mask, place, None, values)
        typed, index = _typed(storage, a, size)
        self._put(typed, index, values)
        if storage.written is not None:
            for byte in range(size):
                storage.written[a - storage.base + byte] = True

    def _one_storage(self, a: Bits, size: int) -> Storage | None:
        """The storage that has all items, if they are aligned: the ordinary case."""
        if a.size == 0:
            return self.known
        low, high = int(a.min()), int(a.max()) + size
        storage = self.known
        if storage is None or not (storage.base <= low and high <= storage.end):
            storage = self.storage_at(low)
            if storage is None or high > storage.end:
                return None
            self.known = storage
        if size > 1 and int(np.bitwise_or.reduce(a, axis=None)) & (size - 1):
            return None
        return storage

    def check_origin(
        self, frame: Frame, storage: Storage, a: Bits, size: int, mask: Mask, place: Place,
        here: Flags | None = None,
    ) -> None:  # fmt: skip
        """Tell of accesses (of those in `here`) that reach a storage which no parameter that their
        address comes from points at."""
        told = self.allowed.get(place.line)
        if told is not None and storage not in told:
            wrong = np.ones(a.shape, bool) if here is None else here
            what = "memory of another argument"
            self._tell(frame, "out-of-bounds", what, wrong, a, size, mask, place)

    def storage_at(self, address: int) -> Storage | None:
        """The storage at an address: of the launch, or of the process if the kernel reads
        addresses from memory, where the host may have put any."""
        known = self.space._known(address)
        if known is not None or not self.batch.follows_tables:
            return known
        return self.space.find(address)

    def apart(
        self, frame: Frame, a: Bits, size: int, mask: Mask, place: Place, write: bool
    ) -> list[tuple[Storage, Flags]]:
        """Items in several storages, without those that are wrong, which are told."""
        straight = a & (size - 1) == 0
        self._tell(frame, "alignment", "global memory", ~straight, a, size, mask, place)
        left, found = straight.copy(), []
        nowhere = np.zeros(a.shape, bool)
        while left.any():
            first = int(a[left].min())
            storage = self.storage_at(first)
            if storage is None:
                here = left & (a == first)
                if not self.batch.follows_tables:  # up to the next one that is known
                    here = left & (a < self._following(first))
                nowhere |= here
            else:
                here = left & (a >= storage.base) & (a < storage.end)
                inside = here & (a + size <= storage.end)
                nowhere |= here & ~inside
                if write and storage.readonly:
                    self._tell(
                        frame, "out-of-bounds", "read-only memory", inside, a, size, mask, place
                    )
                else:
                    self.check_origin(frame, storage, a, size, mask, place, inside)
                    found.append((storage, inside))
            left &= ~here
        self._tell(frame, "out-of-bounds", "global memory", nowhere, a, size, mask, place)
        return found

    def _following(self, address: int) -> int:
        bases = [s.base for s in self.space.storages if s.base > address]
        return min(bases, default=(1 << 63) - 1)

    def _load_apart(self, frame: Frame, a: Bits, size: int, mask: Mask, place: Place) -> Bits:
        made = np.zeros(a.shape, item(size))
        for storage, here in self.apart(frame, a, size, mask, place, False):
            typed, index = _typed(storage, a[here], size)
            made[here] = typed.take(index)
        return made

    def _store_apart(self, frame: Frame, a: Bits, values: Bits, mask: Mask, place: Place) -> None:
        for storage, here in self.apart(frame, a, values.dtype.itemsize, mask, place, True):
            typed, index = _typed(storage, a[here], values.dtype.itemsize)
            self.batch.progress += 1
            typed[index] = np.broadcast_to(values, a.shape)[here]
            if storage.written is not None:
                for byte in range(values.dtype.itemsize):
                    storage.written[a[here] - storage.base + byte] = True

    def _check_written(
        self, frame: Frame, storage: Storage, a: Bits, size: int, mask: Mask, place: Place
    ) -> None:
        assert storage.written is not None
        at = a - storage.base
        missing = ~storage.written[at]
        for byte in range(1, size):
            missing = missing | ~storage.written[at + byte]
        self._tell(frame, "uninitialised", "global memory", missing, a, size, mask, place)


def _signed(address: Bits) -> Bits:
    return address.view(np.int64) if address.itemsize == 8 else address.astype(np.int64)


def _shift(size: int) -> int:
    return size.bit_length() - 1


def _blank(taken: Bits, good: Flags) -> Bits:
    if taken.dtype.kind == "V":
        taken[~good] = np.zeros((), taken.dtype)
        return taken
    return np.where(good, taken, taken.dtype.type(0))


def _typed(storage: Storage, a: Bits, size: int) -> tuple[Bits, Bits]:
    phase = -storage.base % size
    return storage.typed(item(size), phase), (a - (storage.base + phase)) >> _shift(size)


def _space_at(top: int) -> str:
    return {1: "shared", 2: "local", 3: "param"}.get(top, "global")
