"""Shadows of memory within one launch: a float64 beside each element that was stored.

Kept by storage and element size; a store of another size ends the shadows of the bytes it touches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp.memory import Storage, View, contiguous_strides


@dataclass(slots=True, eq=False)
class Cell:
    """The shadows of the elements of one size in a storage."""

    size: int
    shadow: Any
    known: Any


@dataclass(slots=True, eq=False)
class ShadowMemory:
    """By the storage's base address."""

    cells: dict[int, dict[int, Cell]] = field(default_factory=dict)

    def _cell(self, storage: Storage, size: int) -> Cell:
        cells = self.cells.setdefault(storage.base, {})
        cell = cells.get(size)
        if cell is None:
            count = storage.nbytes // size
            cell = cells[size] = Cell(size, np.zeros(count), np.zeros(count, bool))
        return cell

    def read(self, storage: Storage, index: Any, size: int, values: Any) -> Any:
        """The shadows of elements, those of their `values` where none is known; None: of all."""
        cell = self.cells.get(storage.base, {}).get(size)
        if cell is None:
            return None
        index = np.clip(index, 0, len(cell.known) - 1)
        known = cell.known[index]
        if not known.any():
            return None
        return np.where(known, cell.shadow[index], values)

    def write(self, storage: Storage, index: Any, size: int, shadow: Any) -> None:
        """Elements get shadows, or (None) lose them. Arrays of active elements."""
        for other in self.cells.get(storage.base, {}).values():
            if other.size != size:
                self._end(other, index * size, size)
        if shadow is None:
            cell = self.cells.get(storage.base, {}).get(size)
            if cell is not None:
                cell.known[index] = False
            return
        cell = self._cell(storage, size)
        cell.shadow[index] = shadow
        cell.known[index] = True

    def combine(
        self, storage: Storage, index: Any, size: int, shadow: Any, how: str, old: Any
    ) -> None:
        """An atomic: `old` are the values that stood there before the launch's own."""
        cell = self._cell(storage, size)
        fresh = ~cell.known[index]
        if fresh.any():
            cell.shadow[index[fresh]] = old[fresh]
            cell.known[index] = True
        fold = {"add": np.add, "max": np.maximum, "min": np.minimum}.get(how)
        if fold is None:
            cell.shadow[index] = shadow
        else:
            fold.at(cell.shadow, index, np.broadcast_to(shadow, index.shape))

    @staticmethod
    def _end(cell: Cell, offsets: Any, size: int) -> None:
        first, last = offsets // cell.size, (offsets + size - 1) // cell.size
        for step in range(int((last - first).max(initial=0)) + 1):
            cell.known[np.minimum(first + step, len(cell.known) - 1)] = False

    def of_view(self, view: View) -> tuple[Any, Any]:
        """Where in an argument, by the flat index of its elements, shadows are known, and the shadows."""
        assert view.storage is not None
        cell = self.cells.get(view.storage.base, {}).get(view.itemsize)
        if cell is None:
            return np.zeros(0, np.int64), np.zeros(0)
        first = (int(view.base) - view.storage.base) // view.itemsize
        if tuple(view.strides) == contiguous_strides(view.shape):
            at = np.flatnonzero(cell.known[first : first + view.size])
            return at, cell.shadow[at + first]
        index = np.full(view.shape, first, np.int64)
        for axis, (n, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
            along = np.arange(n, dtype=np.int64) * stride
            index += along.reshape((-1,) + (1,) * (len(view.shape) - axis - 1))
        index = index.reshape(-1)
        at = np.flatnonzero(cell.known[index])
        return at, cell.shadow[index[at]]


__all__ = ["ShadowMemory"]
