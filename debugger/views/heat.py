"""A block as a heat map: two of its axes, the others paged; masked, undefined, NaN and infinite
elements apart from numbers; the scale; the element under the cursor.

A block of one axis goes on from row to row. One that does not fit is pooled (`cells`) or, if the
`Look` says so, cut into pages; either is said above it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blockstep.debugger.views.blocks import Block
from blockstep.debugger.views.cells import (
    WORDS,
    Kind,
    Scale,
    chosen_of,
    kinds_of,
    scale_of,
    sign_of,
)
from blockstep.debugger.views.numbers import full, short
from blockstep.debugger.views.palette import Palette
from blockstep.debugger.views.planes import Index, Look, look_at, part_text
from blockstep.debugger.views.raster import WIDE, Raster, raster_of
from blockstep.debugger.views.text import Fragment, Line, Shown, cut, said, width_of


def heat(block: Block, look: Look, width: int, height: int, palette: Palette) -> Shown:
    """The map in `width` × `height`. Spots are indices of elements."""
    look = look_at(block.shape, look)
    kinds, numbers = kinds_of(block), block.numbers
    if not kinds.size:
        return said(f"{block.name} {block.type} has no elements")
    scale = scale_of(numbers, kinds)
    below = _below(block, look, scale, kinds, width, palette)
    if not block.shape:
        return Shown([_title(block), *below])
    room = max(height - 2 - len(below), 1)
    raster = raster_of(block.shape, look, width, room, look.numbers)
    chosen = chosen_of(raster, numbers, kinds)
    paint = _Paint(numbers.ravel(), kinds.ravel(), chosen, scale, palette, raster.wide)
    lines, spots = raster.draw(paint, chosen)
    head = [*_title(block), ("class:quiet", _told(block, raster))]
    spots = [replace(spot, row=spot.row + 1) for spot in spots]
    every = [cut(line, width, palette.signs.more) for line in [head, *lines, *below]]
    return Shown(every, spots)


def _below(
    block: Block, look: Look, scale: Scale, kinds: Any, width: int, palette: Palette
) -> list[Line]:
    """The scale, signs that occur, and the element under the cursor."""
    legend, signs = _legend(scale, width, palette), counts(kinds, palette)
    if signs and width_of(legend) + 2 + width_of(signs) <= width:
        legend, signs = [*legend, ("", "  "), *signs], []
    return [line for line in (legend, signs, _detail(block, look, kinds)) if line]


@dataclass(frozen=True, slots=True, eq=False)
class _Paint:
    """Style and text of a cell."""

    numbers: Any
    kinds: Any
    chosen: Any
    scale: Scale
    palette: Palette
    wide: bool

    def __call__(self, i: int, j: int) -> Fragment:
        element = self.chosen[i, j]
        kind, number = Kind(self.kinds[element]), float(self.numbers[element])
        if kind is Kind.NUMBER:
            style, text = self.palette.heat(self.scale.fraction(number), self.scale.both)
            return style, short(number, WIDE - 1).rjust(WIDE) if self.wide else text
        text = sign_of(kind, self.palette, self.wide)
        return f"class:cell.{kind.name.lower()}", text.rjust(WIDE) if self.wide else text


def _title(block: Block) -> Line:
    told = f" elements of {block.into}" if block.into else ""
    return [("class:name", block.name), ("", f" {block.type}{told}")]


def _told(block: Block, raster: Raster) -> str:
    """Which part is shown, what a cell is, and which mask there is."""
    parts = part_text(raster.plane) + pooled_text(raster, "max |x|")
    if block.mask is not None:
        parts.append(f"mask {block.mask_text}")
    return f"  {', '.join(parts)}" if parts else ""


def pooled_text(raster: Raster, what: str) -> list[str]:
    """What a cell of several elements shows."""
    down, across = raster.per
    if down * across == 1:
        return []
    many = f"{down} x {across}" if down > 1 and across > 1 else str(down * across)
    return [f"a cell: {what} of {many}"]


def _legend(scale: Scale, width: int, palette: Palette) -> Line:
    if scale.low == scale.high:
        return [("class:index", f"all numbers are {short(scale.low)}")]
    low, high = short(scale.low), short(scale.high)
    count = min(12, max((width - len(low) - len(high) - 2) // 2, 2))
    steps = [palette.heat((i + 0.5) / count, scale.both) for i in range(count)]
    return [("class:index", f"{low} "), *steps, ("class:index", f" {high}")]


def counts(kinds: Any, palette: Palette) -> Line:
    """The signs that occur, and how often."""
    line: Line = []
    for kind, word in WORDS.items():
        count = int(np.count_nonzero(kinds == kind))
        if count:
            line.append((f"class:cell.{kind.name.lower()}", sign_of(kind, palette)))
            line.append(("", f" {count} {word}  "))
    return line


def _detail(block: Block, look: Look, kinds: Any) -> Line:
    """The element under the cursor."""
    if not look.cursor and block.shape:
        return []
    return [("class:name", f"{block.name}{index_text(look.at)}"), ("", f" = {_element(block, look.at, kinds)}")]  # fmt: skip


def _element(block: Block, at: Index, kinds: Any) -> str:
    kind = Kind(kinds[at])
    if kind in (Kind.UNDEFINED, Kind.HOLE):
        return "undefined" if kind is Kind.UNDEFINED else "undefined (masked off)"
    number = full(np.asarray(block.values)[at])
    number = f"{block.into} + {number}" if block.into else number
    return f"{number} (masked off)" if kind is Kind.MASKED else number


def index_text(at: Index) -> str:
    """[3, 5]; nothing for a scalar."""
    return f"[{', '.join(map(str, at))}]" if at else ""


__all__ = ["counts", "heat", "index_text", "pooled_text"]
