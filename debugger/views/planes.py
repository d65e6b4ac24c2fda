"""Which elements of an array are drawn where: two axes, or one that goes on from row to row.

A `Look` says how a person looks at an array; a `Plane` takes the elements that it shows out of arrays
of that shape, and `grouped` parts these into cells, several to a cell where they do not fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """`axes` go down and across, `at` is the element under the cursor, whose other coordinates choose
    the page. `pages`: one element a cell, else several where they do not fit. `numbers`: written out
    (None: where they fit). `cursor`: whether it is shown."""

    axes: tuple[int, int] = (0, 0)
    at: Index = ()
    pages: bool = False
    numbers: bool | None = None
    cursor: bool = True


def look_at(shape: Index, before: Look | None = None) -> Look:
    """A look that fits a shape: the one before, as far as it does; else the last two axes, at the
    origin."""
    before = before or Look()
    rank = len(shape)
    at = before.at if len(before.at) == rank else (0,) * rank
    at = tuple(min(i, max(n - 1, 0)) for i, n in zip(at, shape, strict=True))
    fits = max(before.axes) < max(rank, 1) and len(set(before.axes)) == max(min(rank, 2), 1)
    axes = before.axes if fits else (max(rank - 2, 0), max(rank - 1, 0))
    return replace(before, axes=axes, at=at)


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """What a look shows of arrays of a shape: `height` rows and `width` columns from `first_row` and
    `first_column` on. `row` and `column` are the cursor's. `per_row`: elements of a row of an array
    of one axis, 0 for two axes."""

    shape: Index
    look: Look
    row: int
    column: int
    height: int
    width: int
    per_row: int = 0
    first_row: int = 0
    first_column: int = 0

    def row_label(self, row: int) -> int:
        """The number that a row is called: its index, or that of its first element."""
        return (self.first_row + row) * (self.per_row or 1)

    def take(self, array: Any, fill: Any) -> Any:
        """The plane of an array of the shape; `fill` stands past the end of a last row."""
        if self.per_row:
            rows = -(-self.shape[0] // self.per_row)
            padding = (0, rows * self.per_row - self.shape[0])
            plane = np.pad(array, padding, constant_values=fill).reshape(rows, self.per_row)
        else:
            index = [slice(None) if a in self.look.axes else i for a, i in enumerate(self.look.at)]
            plane = array[tuple(index)]
            plane = plane.T if self.look.axes[0] > self.look.axes[1] else plane
        top, left = self.first_row, self.first_column
        return plane[top : top + self.height, left : left + self.width]

    def flat(self, row: Any, column: Any) -> Any:
        """Flat indices of elements by their rows and columns in the plane."""
        row, column = row + self.first_row, column + self.first_column
        if self.per_row:
            return row * self.per_row + column
        steps = [math.prod(self.shape[a + 1 :]) for a in range(len(self.shape))]
        rest = sum(i * steps[a] for a, i in enumerate(self.look.at) if a not in self.look.axes)
        down, across = self.look.axes
        return rest + row * steps[down] + column * steps[across]


def plane_of(shape: Index, look: Look, room: int, columns: int) -> Plane:
    """What a look shows, if there are `room` rows of `columns` cells."""
    if len(shape) == 1:
        plane = _wrapped(shape, look, room, columns)
    else:
        down, across = look.axes
        plane = Plane(shape, look, look.at[down], look.at[across], shape[down], shape[across])
    if not look.pages:
        return plane
    top, left = plane.row // room * room, plane.column // columns * columns
    return replace(
        plane, first_row=top, first_column=left, height=min(room, plane.height - top),
        width=min(columns, plane.width - left),
    )  # fmt: skip


def _wrapped(shape: Index, look: Look, room: int, columns: int) -> Plane:
    """One axis in rows of a power of two."""
    count = shape[0]
    if columns >= 4:
        columns = 1 << (columns.bit_length() - 1)
    each = 1 if look.pages else fold(count, columns * room)
    per = max(min(columns * each, count), 1)
    return Plane(shape, look, look.at[0] // per, look.at[0] % per, -(-count // per), per, per)


def fold(count: int, most: int) -> int:
    """How many elements a cell has, if there is room for `most` cells: a power of two, so that cells
    do not lie across the edges of blocks."""
    return 1 << max(-(-count // most) - 1, 0).bit_length()


def grouped(plane: Any, per: tuple[int, int], fill: Any) -> Any:
    """The elements of each cell of `per` rows and columns along a last axis."""
    rows, columns = plane.shape
    down, across = -(-rows // per[0]), -(-columns // per[1])
    padding = ((0, down * per[0] - rows), (0, across * per[1] - columns))
    full = np.pad(plane, padding, constant_values=fill) if any(map(any, padding)) else plane
    split = full.reshape(down, per[0], across, per[1]).transpose(0, 2, 1, 3)
    return split.reshape(down, across, per[0] * per[1])


def moved(shape: Index, look: Look, down: int, across: int) -> Look:
    """The cursor so many elements further on the plane; it stays on the array."""
    if not shape:
        return look
    at = list(look_at(shape, look).at)
    if len(shape) == 1:
        at[0] += across + down
    else:
        axes = look_at(shape, look).axes
        at[axes[0]] += down
        at[axes[1]] += across
    fixed = tuple(min(max(i, 0), max(n - 1, 0)) for i, n in zip(at, shape, strict=True))
    return replace(look_at(shape, look), at=fixed)


def paged(shape: Index, look: Look, by: int) -> Look:
    """Another page of the axes that are not drawn, the last of them fastest; it goes round."""
    look = look_at(shape, look)
    others = [a for a in range(len(shape)) if a not in look.axes]
    if not others:
        return look
    lengths = [shape[a] for a in others]
    here = int(np.ravel_multi_index([look.at[a] for a in others], lengths))
    there = np.unravel_index((here + by) % int(np.prod(lengths)), lengths)
    at = list(look.at)
    for axis, index in zip(others, there, strict=True):
        at[axis] = int(index)
    return replace(look, at=tuple(at))


def turned(shape: Index, look: Look) -> Look:
    """The next pair of axes."""
    rank = len(shape)
    pairs = [(a, b) for a in range(rank) for b in range(rank) if a != b]
    look = look_at(shape, look)
    if not pairs:
        return look
    return replace(look, axes=pairs[(pairs.index(look.axes) + 1) % len(pairs)])


def part_text(plane: Plane) -> list[str]:
    """Which part of the array a plane is, in words."""
    shape, look = plane.shape, plane.look
    found = []
    if len(shape) > 2:
        names = {look.axes[0]: "down", look.axes[1]: "across"}
        found.append(f"[{', '.join(names.get(a, str(i)) for a, i in enumerate(look.at))}]")
    elif len(shape) == 2 and look.axes == (1, 0):
        found.append("transposed")
    rows, columns = plane.height, plane.width
    if not look.pages:
        return found
    if plane.per_row:
        first, last = plane.row_label(0), min(plane.row_label(rows), shape[0]) - 1
        return found if last - first + 1 == shape[0] else [f"{first}..{last} of {shape[0]}"]
    for word, first, count, axis in (
        ("rows", plane.first_row, rows, look.axes[0]),
        ("columns", plane.first_column, columns, look.axes[1]),
    ):
        if count < shape[axis]:
            found.append(f"{word} {first}..{first + count - 1} of {shape[axis]}")
    return found


__all__ = ["Index", "Look", "Plane", "grouped", "look_at", "moved", "paged", "part_text", "plane_of", "turned"]  # fmt: skip
