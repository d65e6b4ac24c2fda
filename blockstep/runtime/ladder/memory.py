"""All memory of a launch: as it was before, and what a rung made of it.

A rung runs on the caller's own memory, at the addresses that it has: overlapping views, strides,
alignment and tables of addresses stay what they are. Memory is put back after each rung. A storage
that is reached only through an address in memory is taken down when it is first reached, which is
before anything can have been stored there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.interp.memory import AddressSpace, Storage, View
from blockstep.language import types as ty

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Image = dict[int, Bytes]
"""The bytes of storages, by address."""


class Memory:
    """The memory of one launch. Whoever makes it has bound the arguments and run nothing yet."""

    def __init__(self, space: AddressSpace) -> None:
        self.space = space
        self.arguments = frozenset(s.base for s in space.storages)
        self._saved: list[tuple[Bytes, Bytes]] = []
        self._flags: list[tuple[Any, Any]] = []  # which bytes the host has written
        for storage in space.storages:
            self._save(storage)
        space.joined = self._save

    def _save(self, storage: Storage) -> None:
        if not storage.readonly:
            self._saved.append((storage.data, storage.data.copy()))
            written = storage.written
            if written is not None:
                self._flags.append((written, written.copy()))

    def restore(self) -> None:
        """Everything is as it was before the launch."""
        for data, before in reversed(self._saved):  # what joined into one storage: oldest last
            data[...] = before
        for written, before in reversed(self._flags):
            written[...] = before

    def image(self) -> Image:
        """A copy of what is in memory now."""
        return {s.base: s.data.copy() for s in self._written()}

    def put(self, image: Image) -> None:
        """Memory as an image has it."""
        for storage in self._written():
            if storage.base in image:
                storage.data[...] = image[storage.base]

    def _written(self) -> list[Storage]:
        return [s for s in self.space.storages if not s.readonly and not s.internal]

    @property
    def known(self) -> frozenset[int]:
        """The addresses of the storages of arguments, and of those that were reached."""
        return self.arguments | frozenset(s.base for s in self.reached)

    @property
    def reached(self) -> list[Storage]:
        """Storages of no argument, reached through addresses in memory."""
        return [s for s in self.space.storages if s.base not in self.arguments and not s.internal]

    def differences(self, wanted: Image) -> list[Different]:
        """Where memory is not as wanted: one for each view in which elements differ, and one for
        each storage outside of all views. A NaN is equal to every NaN of its type. What nobody
        had reached when the image was taken is to be as it was before."""
        found: list[Different] = []
        for storage in self._written():
            right = wanted.get(storage.base)
            if right is None or right.size != storage.nbytes:
                right = self._put_together(storage, wanted)
            if not np.array_equal(right, storage.data):
                found += _compared(storage, right)
        return found

    def _put_together(self, storage: Storage, wanted: Image) -> Bytes:
        """What is wanted of a storage that was none, or several, when the image was taken."""
        found = storage.data.copy()
        known = [(data.__array_interface__["data"][0], before) for data, before in self._saved]
        for base, data in (*reversed(known), *wanted.items()):
            start = base - storage.base
            if 0 <= start and start + data.size <= found.size:
                found[start : start + data.size] = data
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Different:
    """One array in which elements differ: `wrong` says which, in the array's shape. Without a view
    it is the bytes of a storage that no argument covers."""

    storage: Storage
    view: View | None
    wanted: Any
    found: Any
    wrong: Any

    @property
    def name(self) -> str:
        """What a message calls it."""
        return self.view.name if self.view is not None else self.storage.name

    @property
    def kind(self) -> ty.dtype:
        """The type of an element."""
        return ty.uint8 if self.view is None else self.view.dtype

    @property
    def count(self) -> int:
        """How many elements differ."""
        return int(np.count_nonzero(self.wrong))

    @property
    def first(self) -> tuple[int, ...]:
        """The first of them."""
        return tuple(int(i) for i in np.unravel_index(int(np.argmax(self.wrong)), self.wrong.shape))


def _compared(storage: Storage, wanted: Bytes) -> Iterator[Different]:
    now = storage.data.copy()
    wrong = wanted != now
    views = [v for v in storage.views if v.size and v.itemsize]
    for view in views:
        if view.dtype.is_floating():
            both = _is_nan(array_of(view, wanted)) & _is_nan(array_of(view, now))
            _bytes_of(view, wrong)[both] = False
    for view in views:
        elements = _bytes_of(view, wrong)
        chosen = elements.any(axis=-1)
        if chosen.any():
            yield Different(storage, view, array_of(view, wanted), array_of(view, now), chosen)
            elements[chosen] = False
    if wrong.any():
        yield Different(storage, None, wanted, now, wrong)


def array_of(view: View, data: Bytes) -> Any:
    """The elements of a view in the bytes of its storage."""
    assert view.storage is not None
    strides = [s * view.itemsize for s in view.strides]
    offset = view.base - view.storage.base
    return np.ndarray(view.shape, view.dtype.numpy, data.data, offset, strides)


def _bytes_of(view: View, flags: Any) -> Any:
    """A flag for each byte of each element, to read and write."""
    assert view.storage is not None
    strides = (*[s * view.itemsize for s in view.strides], 1)
    offset = view.base - view.storage.base
    return np.ndarray((*view.shape, view.itemsize), bool, flags.data, offset, strides)


def _is_nan(array: Any) -> Any:
    return np.isnan(array) if array.dtype.kind == "f" else np.isnan(array.astype(np.float32))


__all__ = ["Different", "Image", "Memory", "array_of"]
