"""`Cells`: what a checker keeps for every byte of a storage, at the grain that the accesses have.

A cell stands for `grain` bytes, a power of two that divides the start and the size of every
access seen so far. A finer access halves the cells (`np.repeat`), so a cell never stands for
bytes with different pasts: what is kept is exact to the byte for any mixture of widths and
alignments.

Tables are int32 with 0 for "nothing"; they are made when first written, and zeroed by the system
page by page, so an untouched part of a large array costs nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from blockstep.interp.reach import Reach

Table = npt.NDArray[np.int32]


class Tile:
    """The cells under a regular block: a strided part of any table."""

    __slots__ = ("offset", "shape", "strides")

    def __init__(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.offset, self.shape, self.strides = offset, shape, strides

    def of(self, table: Table) -> Table:
        """That part of `table`, which it shares."""
        return np.ndarray(self.shape, np.int32, table, self.offset, self.strides)


Index = slice | npt.NDArray[np.int64] | Tile
_MOST_NOTES = 1 << 16


def under(table: Table, index: Index) -> Table:
    """What a table holds in the cells of an index (for all but irregular ones: shared with it)."""
    return index.of(table) if type(index) is Tile else table[index]  # type: ignore[index]


def put(table: Table, index: Index, value: Any) -> None:
    """Sets the cells of an index."""
    if type(index) is Tile:
        index.of(table)[...] = value
    else:
        table[index] = value  # type: ignore[index]


class Cells:
    """The tables of one storage, which begins at `base` and has `nbytes` bytes."""

    __slots__ = ("base", "filled", "grain", "nbytes", "shift", "tables", "unpainted")

    def __init__(self, base: int, nbytes: int, grain: int) -> None:
        self.base, self.nbytes = base, nbytes
        self.grain = grain
        self.shift = grain.bit_length() - 1
        self.tables: dict[str, Table] = {}
        self.filled: dict[str, tuple[int, int]] = {}  # a stretch with all cells that are not 0
        # What `fill` has not yet written into a table: first and last byte, value.
        self.unpainted: dict[str, list[tuple[int, int, int]]] = {}

    def is_new(self, name: str, reach: Reach) -> bool:
        """Whether the cells of a reach are surely 0 yet, as those of most stores are."""
        low, high = self.filled.get(name, (0, 0))
        return reach.high <= low or high <= reach.low

    def fill(self, name: str, reach: Reach, value: int) -> None:
        """Sets the cells of a reach in a table for which `is_new` is asked."""
        low, high = self.filled.get(name, (reach.low, reach.high))
        if reach.packed and (high <= reach.low or reach.high <= low or name not in self.filled):
            self._note(name, reach, value)
        else:
            index = self.index(reach)
            put(self.table(name), index, value)
        self.filled[name] = (
            reach.low if reach.low < low else low,
            reach.high if reach.high > high else high,
        )

    def _note(self, name: str, reach: Reach, value: int) -> None:
        """Cells that are new to a table are only noted down until somebody asks for the table."""
        start, stop = reach.low - self.base, reach.high - self.base
        odd = (start | reach.size) & (self.grain - 1)
        if odd:
            self.refine(odd & -odd)
        notes = self.unpainted.setdefault(name, [])
        notes.append((start, stop, value))
        if len(notes) > _MOST_NOTES:
            self.table(name)

    def table(self, name: str) -> Table:
        """A table, all zeros at first."""
        found = self.tables.get(name)
        if found is None:
            found = self.tables[name] = np.zeros(-(-self.nbytes // self.grain), np.int32)
        for start, stop, value in self.unpainted.pop(name, ()):
            found[start >> self.shift : stop >> self.shift] = value
        return found

    def index(self, reach: Reach) -> Index:
        """The cells under the active lanes: `reach.size // grain` a lane, in lane order."""
        start = reach.low - self.base
        odd = (start | reach.size) & (self.grain - 1)
        if odd:
            self.refine(odd & -odd)
        if reach.packed:
            return slice(start >> self.shift, (reach.high - self.base) >> self.shift)
        if reach.strides is not None:
            return self._tile(reach)
        offsets = reach.addresses - self.base
        odd = int(np.bitwise_or.reduce(offsets)) & (self.grain - 1)
        if odd:
            self.refine(odd & -odd)
        cells = offsets >> self.shift
        per_lane = reach.size >> self.shift
        if per_lane > 1:
            cells = (cells[:, None] + np.arange(per_lane)).reshape(-1)
        return cells

    def _tile(self, reach: Reach) -> Tile:
        assert reach.strides is not None
        start = reach.start - self.base
        odd = reach.bits(self.base) & (self.grain - 1)
        if odd:
            self.refine(odd & -odd)
        shape, strides = reach.shape, tuple([(s >> self.shift) * 4 for s in reach.strides])
        per_lane = reach.size >> self.shift
        if per_lane > 1:
            shape, strides = (*shape, per_lane), (*strides, 4)
        return Tile((start >> self.shift) * 4, shape, strides)

    def refine(self, grain: int) -> None:
        """Makes cells smaller; each keeps what its bytes had."""
        times = self.grain // grain
        self.grain, self.shift = grain, grain.bit_length() - 1
        count = -(-self.nbytes // grain)
        self.tables = {name: np.repeat(t, times)[:count] for name, t in self.tables.items()}

    def lanes(self, positions: npt.NDArray[np.bool_], size: int) -> npt.NDArray[np.bool_]:
        """For flags of cells as `index` gave them: the active lanes with a flagged cell."""
        found: npt.NDArray[np.bool_] = np.any(positions.reshape(-1, size // self.grain), axis=1)
        return found


def distinct(values: Table) -> Any:
    """The values that occur; one comparison of bytes where there is only one."""
    raw = values.tobytes()
    if raw[4:] == raw[:-4]:
        return (values.item(0),) if raw else ()
    if values.size <= 4096:
        return set(values.ravel().tolist())
    return np.unique(values).tolist()
