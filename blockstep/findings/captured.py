"""What is kept of a launch for a report beside its findings: the grid, and whose memory is whose.

Invariant: a picture has at most `MOST_CELLS` cells, however large the grid or the array: a cell then
stands for several neighbours, and the picture says how many.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from math import prod
from typing import Any

import numpy as np

from blockstep.findings.model import Program, Span

SIDE = 64  # most cells of a picture across, and down
MOST_CELLS = SIDE * SIDE
NOBODY = -1
SEVERAL = -2


class State(IntEnum):
    """How far a program instance came; the greater wins a cell."""

    NOT_RUN = 0
    DONE = 1
    PARTNER = 2
    FOUND = 3


@dataclass(frozen=True, slots=True)
class Raster:
    """How `rows` × `columns` items lie in cells of `down` × `across` items each. Of one row (`wraps`)
    the cells go on from line to line, `width` of them in each."""

    rows: int
    columns: int
    down: int
    across: int
    wraps: bool = False

    @property
    def width(self) -> int:
        """Cells across."""
        whole = -(-self.columns // self.across)
        return min(whole, SIDE) if self.wraps else whole

    @property
    def height(self) -> int:
        """Cells down."""
        if self.wraps:
            return max(-(-self.columns // (self.across * SIDE)), 1)
        return -(-self.rows // self.down)

    @property
    def together(self) -> int:
        """How many items one cell stands for."""
        return self.down * self.across

    def groups(self, values: Any, fill: int) -> Any:
        """The items of each cell: height × width × together; `fill` where there is none."""
        height, width = self.height, self.width
        if self.wraps:
            out = np.full(height * width * self.across, fill, values.dtype)
            out[: values.size] = values.reshape(-1)
            return out.reshape(height, width, self.across)
        full = np.full((height * self.down, width * self.across), fill, values.dtype)
        full[: self.rows, : self.columns] = values.reshape(self.rows, self.columns)
        split = full.reshape(height, self.down, width, self.across)
        return split.swapaxes(1, 2).reshape(height, width, -1)


def raster_of(shape: tuple[int, ...]) -> Raster:
    """The last axis goes across, all others down; one axis alone goes on from line to line."""
    columns = shape[-1] if shape else 1
    rows = prod(shape[:-1])
    if rows == 1 or columns == 1:
        items = rows * columns
        return Raster(1, items, 1, max(-(-items // MOST_CELLS), 1), wraps=True)
    return Raster(rows, columns, -(-rows // SIDE), -(-columns // SIDE))


@dataclass(frozen=True, slots=True, eq=False)
class GridPicture:
    """The program instances: `cells` has the gravest `State` of each cell (-1: outside the grid)."""

    raster: Raster
    cells: Any
    counts: dict[State, int]


def picture_of_grid(grid: Program, states: Any) -> GridPicture:
    """`states`: by linear id, x first."""
    raster = raster_of((grid[2] * grid[1], grid[0]))
    counts = {s: int(np.count_nonzero(states == s)) for s in State}
    return GridPicture(raster, raster.groups(states, -1).max(axis=-1), counts)


@dataclass(frozen=True, slots=True, eq=False)
class MemoryPicture:
    """An argument: `cells` has the linear id of the instance that wrote the elements of a cell last,
    `NOBODY` or `SEVERAL` (-3: outside of the array). `writers` are the instances with most elements,
    `written` counts the elements that were written. `because` says why there is no picture."""

    name: str
    type_text: str
    shape: tuple[int, ...]
    raster: Raster
    cells: Any = None
    writers: tuple[tuple[int, int], ...] = ()
    number_of_writers: int = 0
    written: int = 0
    because: str = ""


MOST_WRITERS = 8


def picture_of_memory(name: str, type_text: str, writers: Any) -> MemoryPicture:
    """`writers`: by element, in the argument's shape."""
    shape = tuple(int(n) for n in np.shape(writers))
    raster = raster_of(shape)
    if not writers.size:
        return MemoryPicture(name, type_text, shape, raster, because="it has no elements")
    groups = raster.groups(np.asarray(writers, np.int64), -3)
    top = groups.max(axis=-1)
    absent = groups == -3
    same = ((groups == top[..., None]) | absent).all(axis=-1)
    cells = np.where(same, top, SEVERAL)
    ids, counts = np.unique(writers[writers >= 0], return_counts=True)
    order = np.argsort(-counts, kind="stable")[:MOST_WRITERS]
    most = tuple((int(ids[k]), int(counts[k])) for k in order)
    return MemoryPicture(
        name, type_text, shape, raster, cells, most, len(ids), int(counts.sum())
    )  # fmt: skip


@dataclass(slots=True, eq=False)
class Captured:
    """One launch. `source` is the whole kernel, from its decorators on."""

    number: int
    kernel: str
    grid: Program
    source: Span
    picture: GridPicture | None = None
    memory: list[MemoryPicture] = field(default_factory=list)
    why_no_memory: str = ""
    precision: Any = None  # a precision report


__all__ = [
    "MOST_CELLS",
    "NOBODY",
    "SEVERAL",
    "SIDE",
    "Captured",
    "GridPicture",
    "MemoryPicture",
    "Raster",
    "State",
    "picture_of_grid",
    "picture_of_memory",
    "raster_of",
]
