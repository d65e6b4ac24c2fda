"""The memory of an argument, coloured by the program instance that wrote each element last.

An instance has a letter and a colour; both repeat, so the element under the cursor is told in full.
A cell of elements that several instances wrote shows `*`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blockstep.debugger.views.heat import index_text, pooled_text
from blockstep.debugger.views.numbers import full
from blockstep.debugger.views.palette import Palette
from blockstep.debugger.views.planes import Look, look_at, part_text
from blockstep.debugger.views.raster import raster_of
from blockstep.debugger.views.text import Fragment, Line, Shown, cut, said
from blockstep.options import Program

MANY = -2
NOBODY = -1
ABSENT = -3  # past the end of a last row


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """An argument: its elements now, and the linear id of the instance that wrote each last (-1: none
    did in this launch)."""

    name: str
    type: str
    values: Any
    writers: Any
    grid: Program


def program_of(grid: Program, linear: int) -> Program:
    """The program instance of a linear id."""
    return linear % grid[0], linear // grid[0] % grid[1], linear // (grid[0] * grid[1])


def memory(shown: Memory, look: Look, width: int, height: int, palette: Palette) -> Shown:
    """The map in `width` × `height`. Spots are indices of elements."""
    shape = tuple(np.shape(shown.values))
    writers = np.asarray(shown.writers).reshape(shape)
    if not writers.size:
        return said(f"{shown.name} {shown.type} has no elements")
    look = look_at(shape, replace(look, numbers=False))
    below = [_counts(writers, shown.grid, width, palette)]
    if look.cursor or not shape:
        below.append(_detail(shown, look, writers))
    title: Line = [("class:name", shown.name), ("", f" {shown.type}")]
    if not shape:
        return Shown([title, *below])
    raster = raster_of(shape, look, width, max(height - 2 - len(below), 1), False)
    owners = _owners(raster.take(writers, ABSENT))
    painted: dict[int, Fragment] = {
        int(owner): _cell(int(owner), palette) for owner in np.unique(owners)
    }
    chosen = np.where(owners == ABSENT, -1, raster.elements(np.zeros(raster.shape, np.int64)))
    lines, spots = raster.draw(lambda i, j: painted[int(owners[i, j])], chosen)
    parts = part_text(raster.plane) + pooled_text(raster, "the writer")
    head = [*title, ("class:quiet", "  " + ", ".join(["by last writer", *parts]))]
    spots = [replace(spot, row=spot.row + 1) for spot in spots]
    every = [cut(line, width, palette.signs.more) for line in [head, *lines, *below]]
    return Shown(every, spots)


def _owners(groups: Any) -> Any:
    """The writer of each cell: MANY where its elements have several."""
    top = groups.max(axis=-1)
    same = (groups == top[..., None]) | (groups == ABSENT)
    return np.where(same.all(axis=-1), top, MANY)


def _cell(owner: int, palette: Palette) -> Fragment:
    if owner == MANY:
        return "class:cell.many", "**"
    if owner < 0:
        return "class:cell.masked", palette.signs.masked * 2
    style, letter = palette.writer(owner)
    return style, letter * 2


def _counts(writers: Any, grid: Program, width: int, palette: Palette) -> Line:
    """Letters of the writers with most elements, as many as there is room for."""
    owners, counts = np.unique(writers, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    line: Line = []
    used = 0
    for at in order:
        owner, count = int(owners[at]), int(counts[at])
        word = "nobody" if owner < 0 else f"({', '.join(map(str, program_of(grid, owner)))})"
        text = f" {word}: {count}  "
        used += 2 + len(text)
        if used > width - 10 and line:
            line.append(("class:quiet", f"and {len(owners) - len(line) // 2} more"))
            break
        line += [_cell(owner, palette), ("", text)]
    return line


def _detail(shown: Memory, look: Look, writers: Any) -> Line:
    owner = int(writers[look.at])
    number = full(np.asarray(shown.values)[look.at])
    who = "nobody in this launch" if owner < 0 else f"instance {program_of(shown.grid, owner)}"
    return [("class:name", f"{shown.name}{index_text(look.at)}"), ("", f" = {number}, written by {who}")]  # fmt: skip


__all__ = ["Memory", "memory", "program_of"]
