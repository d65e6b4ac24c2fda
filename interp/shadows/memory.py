"""Shadows of memory within one launch: a float64 beside each element that was stored.

Kept by storage and type, as planes of the same geometry: element i of the storage is element i of the
plane, so that an access of the grid machine goes to a plane as the same window. A store of another
type ends the shadows of the bytes that it touches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp import atomics
from blockstep.interp.grid import memory as windows
from blockstep.interp.grid.memory import Touch
from blockstep.interp.memory import Storage, View, contiguous_strides
from blockstep.language.types import dtype

DOUBLE, FLAG = np.dtype(np.float64), np.dtype(bool)


class Plane:
    """An array that stands for a storage, one item an element. (`Touch` asks for no more.)"""

    base = 0

    def __init__(self, count: int, item: np.dtype[Any]) -> None:
        self.items = np.zeros(count, item)
        self.data = self.items.view(np.uint8)
        self.nbytes = self.data.nbytes

    def typed(self, item: np.dtype[Any], phase: int = 0) -> Any:
        """All of it; `item` is its own."""
        return self.items

    def seen(self, access: Touch) -> Touch:
        """The same elements, of this plane."""
        size, own = access.itemsize, self.items.itemsize
        made = Touch(
            access.view, self, own, access.block, mask=access.mask, lead=access.lead,  # type: ignore[arg-type]
            whole=access.whole,
        )  # fmt: skip
        if access.starts is not None:
            made.starts = (access.starts - access.storage.base) // size * own
            made.strides = tuple([s // size * own for s in access.strides])
        if access.starts is None or access.mask is not None:
            made._elements, made._active = access.elements(), access.active()
            made.addresses = made._elements  # never read: elements are known
        return made


@dataclass(slots=True, eq=False)
class Cell:
    """The shadows of the elements of one type in a storage, and which are known."""

    size: int
    shadow: Plane
    known: Plane


@dataclass(slots=True, eq=False)
class ShadowMemory:
    """By the storage's base address, and type."""

    cells: dict[int, dict[dtype, Cell]] = field(default_factory=dict)

    def cell(self, storage: Storage, kind: dtype) -> Cell:
        """The shadows of a storage's elements of a type."""
        cells = self.cells.setdefault(storage.base, {})
        found = cells.get(kind)
        if found is None:
            count = storage.nbytes // kind.itemsize
            found = cells[kind] = Cell(kind.itemsize, Plane(count, DOUBLE), Plane(count, FLAG))
        return found

    def known(self, storage: Storage, kind: dtype) -> Cell | None:
        """The same, if anything was stored."""
        return self.cells.get(storage.base, {}).get(kind)

    # What the grid machine accesses

    def load(self, access: Touch, kind: dtype, values: Callable[[], Any]) -> Any:
        """The shadows of the elements that are read; what `values()` gives where none is known; None:
        none is. What is off is anything."""
        cell = self.known(access.storage, kind)
        if cell is None:
            return None
        known = windows.read(cell.known.seen(access), FLAG, None, copy=False)
        if not known.any():
            return None
        found = windows.read(cell.shadow.seen(access), DOUBLE, None, copy=True)
        return found if known.all() else np.where(known, found, values())

    def store(self, access: Touch, kind: dtype, shadow: Any) -> None:
        """Elements get shadows, or (None) lose them."""
        self._ends(access.storage, kind, access.active)
        cell = self.known(access.storage, kind)
        if shadow is None:
            if cell is not None:
                windows.write(cell.known.seen(access), _ALL_OFF, FLAG)
            return
        cell = self.cell(access.storage, kind)
        windows.write(cell.shadow.seen(access), shadow, DOUBLE)
        windows.write(cell.known.seen(access), _ALL_ON, FLAG)

    # By index: of the step machine, and of atomics

    def read(self, storage: Storage, index: Any, kind: dtype, values: Any) -> Any:
        """As `load`, of elements by index."""
        cell = self.known(storage, kind)
        if cell is None:
            return None
        index = np.clip(index, 0, len(cell.known.items) - 1)
        known = cell.known.items[index]
        return np.where(known, cell.shadow.items[index], values) if known.any() else None

    def write(self, storage: Storage, index: Any, kind: dtype, shadow: Any) -> None:
        """As `store`, of active elements by index."""
        self._ends(storage, kind, lambda: index)
        if shadow is None:
            cell = self.known(storage, kind)
            if cell is not None:
                cell.known.items[index] = False
            return
        cell = self.cell(storage, kind)
        cell.shadow.items[index] = shadow
        cell.known.items[index] = True

    def combine(
        self, storage: Storage, index: Any, kind: dtype, shadow: Any, how: str, old: Any
    ) -> None:
        """An atomic on elements by index, lane after lane: `old` are the values that stood there
        before all of them."""
        self._ends(storage, kind, lambda: index)
        cell = self.cell(storage, kind)
        fresh = ~cell.known.items[index]
        if fresh.any():
            cell.shadow.items[index[fresh]] = old[fresh]
            cell.known.items[index] = True
        if how == "add":
            np.add.at(cell.shadow.items, index, np.broadcast_to(shadow, index.shape))
        else:
            given = np.ascontiguousarray(np.broadcast_to(shadow, index.shape))
            atomics.read_modify_write(cell.shadow.items, index, given, how)

    def _ends(self, storage: Storage, kind: dtype, index: Any) -> None:
        """Shadows of elements of other types that share a byte with those that are written."""
        size = kind.itemsize
        for its, other in self.cells.get(storage.base, {}).items():
            if its is kind:
                continue
            offsets = np.asarray(index()) * size
            first, last = offsets // other.size, (offsets + size - 1) // other.size
            known = other.known.items
            for step in range(int((last - first).max(initial=0)) + 1):
                known[np.minimum(np.minimum(first + step, last), len(known) - 1)] = False

    def of_view(self, view: View) -> tuple[Any, Any]:
        """Where in an argument, by the flat index of its elements, shadows are known (None: everywhere),
        and the shadows."""
        assert view.storage is not None
        cell = self.known(view.storage, view.dtype)
        if cell is None:
            return np.zeros(0, np.int64), np.zeros(0)
        known, shadow = cell.known.items, cell.shadow.items
        first = (int(view.base) - view.storage.base) // view.itemsize
        if tuple(view.strides) == contiguous_strides(view.shape):
            there = known[first : first + view.size]
            if there.all():
                return None, shadow[first : first + view.size]
            at = np.flatnonzero(there)
            return at, shadow[at + first]
        index = np.full(view.shape, first, np.int64)
        for axis, (n, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
            along = np.arange(n, dtype=np.int64) * stride
            index += along.reshape((-1,) + (1,) * (len(view.shape) - axis - 1))
        index = index.reshape(-1)
        at = np.flatnonzero(known[index])
        return at, shadow[index[at]]


_ALL_ON, _ALL_OFF = np.ones((1,) * 3, bool), np.zeros((1,) * 3, bool)

__all__ = ["Cell", "ShadowMemory"]
