"""Cells in rows, with the indices beside and above them: what heat maps and maps of memory share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.debugger.views.planes import Index, Look, Plane, fold, grouped, plane_of
from blockstep.debugger.views.text import Fragment, Line, Spot

WIDE = 8  # columns of a cell with its number written out


@dataclass(frozen=True, slots=True, eq=False)
class Raster:
    """The cells of arrays of a shape: `per` rows and columns of the plane for each."""

    plane: Plane
    per: tuple[int, int]
    wide: bool
    label: int  # columns of a row's number

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        return -(-self.plane.height // self.per[0]), -(-self.plane.width // self.per[1])

    def take(self, array: Any, fill: Any) -> Any:
        """The elements of each cell along a last axis, `fill` where there is none."""
        return grouped(self.plane.take(array, fill), self.per, fill)

    def elements(self, first: Any) -> Any:
        """Flat indices of one element of each cell, given where it stands in its cell."""
        down, across = self.shape
        rows = np.arange(down)[:, None] * self.per[0] + first // self.per[1]
        columns = np.arange(across)[None, :] * self.per[1] + first % self.per[1]
        return self.plane.flat(rows, columns)

    @property
    def cell(self) -> int:
        """Columns of a cell."""
        return WIDE if self.wide else 2

    def draw(
        self, paint: Callable[[int, int], Fragment], chosen: Any
    ) -> tuple[list[Line], list[Spot]]:
        """A line of column numbers, and a line for each row. `chosen` is the element that stands for
        each cell, -1 where there is none; its index is what the cell's spot says."""
        lines, spots = [self._head()], []
        for i in range(self.shape[0]):
            number = self.plane.row_label(i * self.per[0])
            line: Line = [("class:index", f"{number:>{self.label}} ")]
            for j in range(self.shape[1]):
                if chosen[i, j] < 0:
                    continue
                line.append(self._one(i, j, paint))
                left = self.label + 1 + j * self.cell
                spots.append(Spot(i + 1, left, left + self.cell, self.index(chosen[i, j])))
            lines.append(line)
        return lines, spots

    def index(self, element: Any) -> Index:
        """The index of an element."""
        return tuple(int(i) for i in np.unravel_index(int(element), self.plane.shape))

    def _one(self, i: int, j: int, paint: Callable[[int, int], Fragment]) -> Fragment:
        style, text = paint(i, j)
        row = (self.plane.row - self.plane.first_row) // self.per[0]
        column = (self.plane.column - self.plane.first_column) // self.per[1]
        if self.plane.look.cursor and (i, j) == (row, column):
            return f"{style} class:cell.cursor", text if self.wide else _pointed(text)
        return style, text

    def _head(self) -> Line:
        every = 1 if self.wide else 4
        text = ""
        for j in range(0, self.shape[1], every):
            number = str(self.plane.first_column + j * self.per[1])
            text += number.rjust(WIDE) if self.wide else number.ljust(every * self.cell)
        return [("class:index", " " * (self.label + 1) + text.rstrip())]


def _pointed(text: str) -> str:
    """A cell of two columns under the cursor."""
    return f"{text[0]}<" if text.strip() else "[]"


def raster_of(shape: Index, look: Look, width: int, room: int, wide: bool | None) -> Raster:
    """The cells of an array with one axis or more in `width` columns and `room` rows. `wide`: for
    numbers that are written out; None: if all of them fit."""
    label = len(str(max((shape[0] if len(shape) == 1 else shape[look.axes[0]]) - 1, 0)))
    if wide is None:
        wide = _fits(shape, look, max((width - label - 1) // WIDE, 1), room)
    columns = max((width - label - 1) // (WIDE if wide else 2), 1)
    plane = plane_of(shape, look, room, columns)
    per = (fold(plane.height, room), fold(plane.width, columns))
    return Raster(plane, per, wide, label)


def _fits(shape: Index, look: Look, columns: int, room: int) -> bool:
    if len(shape) == 1:
        return shape[0] <= columns * room // 2
    return shape[look.axes[1]] <= columns and shape[look.axes[0]] <= room


__all__ = ["WIDE", "Raster", "raster_of"]
