"""Source with the current line, breakpoints and findings in its margin."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from blockstep.debugger.points import Breakpoint
from blockstep.debugger.views.highlight import lines_of
from blockstep.debugger.views.palette import Palette
from blockstep.debugger.views.text import Fragment, Line, Shown, Spot, cut, said


@dataclass(frozen=True, slots=True)
class Place:
    """A file that is looked at. `line` is where the kernel stands in it (0: nowhere), `cursor` the
    line that a person has chosen (0: none)."""

    file: str
    line: int = 0
    cursor: int = 0


def source(
    place: Place,
    points: Iterable[Breakpoint],
    found: Collection[int],
    width: int,
    height: int,
    palette: Palette,
    top: int | None = None,
) -> Shown:
    """`height` lines with the cursor, or else the current line, among them; from line `top` on, if
    they are then. `found`: lines with findings. Spots are line numbers."""
    lines = lines_of(place.file)
    if not lines:
        return said(f"the source of {place.file or 'this code'} cannot be read")
    marks = _marks(place.file, points, palette)
    digits = len(str(len(lines)))
    first = _first(top, place.cursor or place.line, len(lines), height)
    shown: list[Line] = []
    spots: list[Spot] = []
    for number in range(first, min(first + height, len(lines) + 1)):
        margin = _margin(number, place, marks, found, digits, palette)
        line = cut([*margin, *lines[number - 1]], width, palette.signs.more)
        shown.append(_current(line, width, _row_style(number, place)))
        spots.append(Spot(number - first, 0, width, number))
    return Shown(shown, spots, (place.cursor or place.line) - first)


def _first(top: int | None, wanted: int, count: int, height: int) -> int:
    """The first line that is shown. A view that has to move has a third of its height above the line
    that matters."""
    edge = min(2, max(height - 1, 0) // 2)
    if top is not None and top + edge <= wanted < top + height - edge:
        return top
    return max(1, min(wanted - height // 3, count - height + 1))


def _marks(file: str, points: Iterable[Breakpoint], palette: Palette) -> dict[int, Fragment]:
    """The sign of each line with a breakpoint; an enabled one is shown before a disabled one."""
    signs, found = palette.signs, {}
    for point in sorted(points, key=lambda p: p.enabled):
        if point.file != file or not point.line:
            continue
        if not point.enabled:
            found[point.line] = ("class:source.disabled", signs.disabled)
        elif point.condition or point.program is not None or point.ignore:
            found[point.line] = ("class:source.breakpoint", signs.conditional)
        else:
            found[point.line] = ("class:source.breakpoint", signs.breakpoint)
    return found


def _margin(
    number: int, place: Place, marks: dict[int, Fragment], found: Collection[int], digits: int,
    palette: Palette,
) -> Line:  # fmt: skip
    signs = palette.signs
    arrow = ("class:source.here", signs.here) if number == place.line else ("", " ")
    finding = ("class:finding", signs.finding) if number in found else ("", " ")
    style = "class:source.cursor" if number == place.cursor else "class:source.number"
    return [marks.get(number, ("", " ")), arrow, (style, f"{number:>{digits}}"), finding]


def _row_style(number: int, place: Place) -> str:
    if number == place.line:
        return "class:source.current"
    return "class:source.chosen" if number == place.cursor else ""


def _current(line: Line, width: int, style: str) -> Line:
    """The whole row in the style of the current line."""
    if not style:
        return line
    used = sum(len(text) for _, text in line)
    return [(f"{own} {style}", text) for own, text in [*line, ("", " " * (width - used))]]


__all__ = ["Place", "source"]
