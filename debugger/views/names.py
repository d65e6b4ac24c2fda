"""The names of a call: type, range, NaN, undefined elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blockstep.debugger.views.blocks import Block, Summary, block_of, range_text, summary
from blockstep.debugger.views.numbers import full
from blockstep.debugger.views.palette import Palette
from blockstep.debugger.views.text import Fragment, Line, Shown, Spot, columns, cut, said
from blockstep.language.value import tensor

_HEAD: list[Fragment] = [("class:index", t) for t in ("name", "type", "range or value", "NaN", "undef")]  # fmt: skip


def names(
    values: Mapping[str, Any], chosen: str | None, width: int, height: int, palette: Palette
) -> Shown:
    """A row for each name, the chosen one in sight. Spots are names."""
    if not values:
        return said("no names yet")
    rows = [_cells(name, value) for name, value in values.items()]
    lines = columns([_HEAD, *rows])
    order = list(values)
    at = order.index(chosen) if chosen in order else 0
    room = max(height - 1, 1)
    first = min(max(0, at - room + 1), max(len(order) - room, 0))
    shown, spots = [cut(lines[0], width, palette.signs.more)], []
    for number in range(first, min(first + room, len(order))):
        line = cut(lines[number + 1], width, palette.signs.more)
        if order[number] == chosen:
            line = _marked(line, width)
        spots.append(Spot(len(shown), 0, width, order[number]))
        shown.append(line)
    return Shown(shown, spots, at - first + 1)


def _marked(line: Line, width: int) -> Line:
    used = sum(len(text) for _, text in line)
    return [(f"class:chosen {style}", text) for style, text in [*line, ("", " " * (width - used))]]


def _cells(name: str, value: Any) -> list[Fragment]:
    """Name, type, range, NaN, undefined."""
    block = block_of(name, value)
    if block is None:
        return [("class:name", name), ("class:type", _kind(value)), ("", _short(value)), *_NONE]
    found = summary(block)
    odd = [_count("class:cell.nan", found.nans, found.infinities), _count("class:cell.undefined", found.undefined)]  # fmt: skip
    return [("class:name", name), ("class:type", block.type), ("", value_text(block, found)), *odd]


_NONE: list[Fragment] = [("", ""), ("", "")]


def _count(style: str, number: int, infinities: int = 0) -> Fragment:
    text = f"{number}" if number else ""
    if infinities:
        text += f"{'+' if text else ''}{infinities} Inf"
    return (style if text else "", text)


def value_text(block: Block, found: Summary) -> str:
    """The value of a scalar, how many lanes of a mask are on, the range of other blocks."""
    into = f"{block.into} + " if block.into else ""
    values = np.asarray(block.values)
    if found.count == 1 and not found.undefined:
        return into + full(values.reshape(-1)[0])
    if values.dtype.kind == "b":
        on = int(np.count_nonzero(values))
        return f"{on} of {values.size} true"
    return into + range_text(found) if found.low is not None else ""


def _kind(value: Any) -> str:
    if isinstance(value, tensor):
        return str(value.type)
    simple = isinstance(value, bool | int | float | str) or value is None
    return "constexpr" if simple else type(value).__name__


def _short(value: Any, most: int = 30) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[: most - 3] + "..."


__all__ = ["names", "value_text"]
