"""Births of the NaNs that a launch has stored, by element: what a later load of it is told.

Invariant: an id is kept for the width of access that stored it, and a store of another width over
the same bytes ends it. Memory that this launch has not stored NaN to has no table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.births import Births, Ids, Origins
from blockstep.interp.memory import Storage


class StoredBirths:
    """The ids in one storage."""

    def __init__(self, storage: Storage) -> None:
        self._base, self._nbytes = storage.base, storage.nbytes
        self._tables: dict[int, Ids] = {}  # by bytes an element
        self._origins: Origins = {}

    def put(self, addresses: Any, ids: Ids, size: int) -> None:
        """What elements hold from now on: an id, or 0 for what is not NaN."""
        offsets = addresses - self._base
        if size not in self._tables and ids.any():
            self._tables[size] = np.zeros(self._nbytes // size + 1, np.int64)
        for width, table in self._tables.items():
            if width == size:
                table[offsets // size] = ids
            else:
                for part in range(0, size, width):
                    table[(offsets + part) // width] = 0

    def adopt(self, births: Births) -> None:
        """Keeps the origins that ids of a store name."""
        self._origins.update(births.origins)

    def get(self, addresses: Any, size: int) -> Births:
        """The ids of elements (0: not of this launch)."""
        table = self._tables.get(size)
        if table is None:
            return Births(np.zeros(np.shape(addresses), np.int64), {})
        offsets = np.clip(addresses - self._base, 0, self._nbytes - 1)
        return Births.of(table[offsets // size], self._origins)
