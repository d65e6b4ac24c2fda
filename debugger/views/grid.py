"""The grid as a map of program instances: done, here, at fault, the other party of a race, waiting.

The first axis goes across, the second down, the third is paged; a grid of one axis goes on from row
to row. Where it does not fit, a cell stands for several instances and shows the gravest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np

from blockstep.debugger.session import GridState
from blockstep.debugger.views.heat import pooled_text
from blockstep.debugger.views.palette import Palette
from blockstep.debugger.views.planes import Look, look_at, part_text
from blockstep.debugger.views.raster import raster_of
from blockstep.debugger.views.text import Fragment, Line, Shown, cut
from blockstep.options import Program


class Where(IntEnum):
    """How far a program instance is; the greater wins a cell."""

    FRESH = 0
    DONE = 1
    WAITING = 2
    PARTNER = 3
    FOUND = 4
    HERE = 5


WORDS = {
    Where.HERE: "here", Where.FOUND: "finding", Where.PARTNER: "race partner",
    Where.WAITING: "waiting", Where.DONE: "done", Where.FRESH: "to come",
}  # fmt: skip


def states(state: GridState) -> Any:
    """How far each instance is, in the shape (Z, Y, X)."""
    found = np.full(state.done.shape, int(Where.FRESH), np.int8)
    for flags, where in (
        (state.begun, Where.WAITING), (state.done, Where.DONE), (state.partner, Where.PARTNER),
        (state.found, Where.FOUND),
    ):  # fmt: skip
        found[flags] = where
    if state.here is not None:
        found[state.here] = Where.HERE
    return found.reshape(state.grid[::-1])


def grid_shape(grid: Program) -> tuple[int, ...]:
    """The axes that are drawn: one where there is one, else (Y, X) or (Z, Y, X)."""
    if grid[1:] == (1, 1):
        return (grid[0],)
    return (grid[1], grid[0]) if grid[2] == 1 else grid[::-1]


def program_at(grid: Program, index: tuple[int, ...]) -> Program:
    """The instance at an index of that shape."""
    full = (*index[::-1], 0, 0)
    return full[0], full[1], full[2]


def index_of(grid: Program, program: Program) -> tuple[int, ...]:
    """The index of an instance in that shape."""
    return tuple(reversed(program[: len(grid_shape(grid))]))


def grid(state: GridState, look: Look, width: int, height: int, palette: Palette) -> Shown:
    """The map in `width` × `height`. Spots are program instances."""
    shape = grid_shape(state.grid)
    look = look_at(shape, replace(look, numbers=False))
    every = states(state).reshape(shape)
    below = _counts(every, width, palette)
    if look.cursor:
        below.append(_detail(state, look))
    raster = raster_of(shape, look, width, max(height - 2 - len(below), 1), False)
    kinds = every.ravel()
    own = raster.take(every, -1)
    chosen = np.where(own.max(axis=-1) < 0, -1, raster.elements(own.argmax(axis=-1)))
    painted: dict[Where, Fragment] = {where: _cell(where, palette) for where in Where}
    lines, spots = raster.draw(lambda i, j: painted[Where(kinds[chosen[i, j]])], chosen)
    spots = [replace(s, row=s.row + 1, target=program_at(state.grid, s.target)) for s in spots]
    parts = [p for p in part_text(raster.plane) if p != "transposed"]
    if len(shape) == 3:
        parts[0] = f"z = {look.at[0]}" if look.axes == (1, 2) else parts[0]
    parts += pooled_text(raster, "the gravest")
    told = f"  {', '.join(parts)}" if parts else ""
    head: Line = [("class:name", "grid"), ("", f" {_triple(state.grid)}"), ("class:quiet", told)]
    return Shown([cut(line, width, palette.signs.more) for line in [head, *lines, *below]], spots)


def _sign(where: Where, palette: Palette) -> str:
    signs = palette.signs
    return {
        Where.FRESH: signs.fresh, Where.DONE: signs.done, Where.WAITING: signs.waiting,
        Where.PARTNER: signs.partner, Where.FOUND: signs.finding, Where.HERE: signs.instance,
    }[where]  # fmt: skip


def _cell(where: Where, palette: Palette) -> Fragment:
    return f"class:instance.{where.name.lower()}", f"{_sign(where, palette)} "


def _counts(every: Any, width: int, palette: Palette) -> list[Line]:
    """What the signs mean, and how many instances there are of each."""
    lines: list[Line] = [[]]
    for where, word in WORDS.items():
        count = int(np.count_nonzero(every == where))
        if not count:
            continue
        text = f" {word}  " if where is Where.HERE else f" {count} {word}  "
        used = sum(len(t) for _, t in lines[-1])
        if used and used + len(text) + 1 > width:
            lines.append([])
        lines[-1] += [(_cell(where, palette)[0], _sign(where, palette)), ("", text)]
    return lines


def _detail(state: GridState, look: Look) -> Line:
    """All that is known of the instance under the cursor."""
    program = program_at(state.grid, look.at)
    x, y, _ = state.grid
    linear = program[0] + x * (program[1] + y * program[2])
    found = [WORDS[Where.HERE]] if linear == state.here else []
    flags = ((state.found, Where.FOUND), (state.partner, Where.PARTNER), (state.done, Where.DONE))
    found += [WORDS[where] for told, where in flags if told[linear]]
    if not found:
        found = [WORDS[Where.WAITING if state.begun[linear] else Where.FRESH]]
    return [("class:name", f"instance {_triple(program)}"), ("", f" {', '.join(found)}")]


def _triple(program: Program) -> str:
    return f"({', '.join(map(str, program))})"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a launch is, in numbers."""

    done: int
    total: int


def progress(state: GridState) -> Progress:
    """Instances that are done, and all."""
    return Progress(int(np.count_nonzero(state.done)), int(state.done.size))


__all__ = ["Progress", "Where", "grid", "grid_shape", "index_of", "program_at", "progress", "states"]  # fmt: skip
