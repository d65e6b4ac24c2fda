"""Maps as SVG: the grid of program instances, and the memory of an argument by its last writer.

Cells of one colour are one path, so a map stays small. Without a script it has its colours, its legend
and a title on every colour; a script adds what is under the pointer or the keyboard's cursor, from the
cells in `data-runs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from blockstep.diagnostics.words import element_text, plural, triple
from blockstep.findings import Element, Program
from blockstep.findings.captured import (
    NOBODY,
    SEVERAL,
    SIDE,
    GridPicture,
    MemoryPicture,
    Raster,
    State,
)
from blockstep.page.html import Html, join, tag

COLOURS = 12
SMALL = 1024  # cells: up to it each is drawn by itself, with a gap around it
OWNERS = 128  # writers: up to it each has a title of its own
STATES = {
    State.DONE: ("done", "done"),
    State.FOUND: ("found", "finding"),
    State.PARTNER: ("partner", "race partner"),
    State.NOT_RUN: ("fresh", "did not come to its end"),
}


def program_of(grid: Program, linear: int) -> Program:
    """The program instance of a linear id."""
    return linear % grid[0], linear // grid[0] % grid[1], linear // (grid[0] * grid[1])


def grid_map(picture: GridPicture, grid: Program) -> Html:
    """The program instances, coloured by how far they came."""
    cells, raster = picture.cells, picture.raster
    paths = [
        _path(cells == state, raster, style, words) for state, (style, words) in STATES.items()
    ]
    counts = [
        (style, f"{picture.counts[state]} {words}")
        for state, (style, words) in STATES.items()
        if picture.counts[state]
    ]
    label = f"the grid {triple(grid)}: {', '.join(words for _, words in counts)}"
    svg = _svg(paths, raster, label, "grid", grid, cells)
    pooled = _pooled(raster, "program instances", "the gravest")
    axes = "x across" + (", y down" if grid[1] > 1 else "") + (", z below" if grid[2] > 1 else "")
    if raster.wraps and raster.width < raster.columns:
        axes = "one after the other, from line to line"
    return _figure("grid " + triple(grid), svg, _legend(counts), [axes, pooled])


def memory_map(picture: MemoryPicture, grid: Program, found: Sequence[tuple[int, Element]]) -> Html:
    """An argument, coloured by the instance that wrote each element last. `found` are the elements
    that findings name, with the findings' numbers."""
    title = f"{picture.name}  {picture.type_text}"
    if picture.because:
        return _figure(title, None, None, [picture.because])
    cells, raster = picture.cells, picture.raster
    owners = np.unique(cells[cells >= 0])
    each = len(owners) <= OWNERS
    chosen = owners if each else range(COLOURS)
    paths = []
    for owner in chosen:
        same = cells == owner if each else (cells >= 0) & (cells % COLOURS == owner)
        words = f"written by {_instance(grid, int(owner))}" if each else "written"
        paths.append(_path(same, raster, f"w{int(owner) % COLOURS}", words))
    paths.append(_path(cells == SEVERAL, raster, "several", "several instances wrote here"))
    paths.append(_path(cells == NOBODY, raster, "nobody", "nobody wrote here in this launch"))
    rings = [_ring(number, element, picture) for number, element in found]
    total = int(np.prod(picture.shape, dtype=object))
    label = (
        f"{title}: {picture.written} of {plural(total, 'element')} written by"
        f" {plural(picture.number_of_writers, 'program instance')}"
    )
    svg = _svg([*paths, *rings], raster, label, "memory", grid, cells, picture)
    notes = [f"{picture.written} of {plural(total, 'element')} written in this launch, by "
             f"{plural(picture.number_of_writers, 'program instance')}; colours repeat",
             _pooled(raster, "elements", "hatched where several instances wrote")]  # fmt: skip
    if found:
        notes.append("ringed: elements that findings name")
    return _figure(
        title, svg, _legend(_writers(picture, grid, bool((cells == SEVERAL).any()))), notes
    )


def _instance(grid: Program, linear: int) -> str:
    return f"program instance {triple(program_of(grid, linear))}"


def _writers(picture: MemoryPicture, grid: Program, several: bool) -> list[tuple[str, str]]:
    found = [
        (f"w{owner % COLOURS}", f"{triple(program_of(grid, owner))}: {count}")
        for owner, count in picture.writers
    ]
    more = picture.number_of_writers - len(picture.writers)
    if more:
        found.append(("", f"and {plural(more, 'more instance')}"))
    if several:
        found.append(("several", "several"))
    total = int(np.prod(picture.shape, dtype=object))
    if picture.written < total:
        found.append(("nobody", f"nobody: {total - picture.written}"))
    return found


def _pooled(raster: Raster, items: str, how: str) -> str | None:
    if raster.together == 1:
        return None
    across = f"{raster.down} × {raster.across}" if raster.down > 1 else str(raster.across)
    return f"a cell stands for {across} {items}: {how}"


def _legend(entries: Iterable[tuple[str, str]]) -> Html:
    items = [
        tag("li", tag("span", class_=f"key k-{style}") if style else None, " ", words)
        for style, words in entries
    ]
    return tag("ul", items, class_="legend")


def _figure(title: str, svg: Html | None, legend: Html | None, notes: Sequence[str | None]) -> Html:
    small = [tag("p", note, class_="quiet") for note in notes if note]
    readout = tag("output", class_="readout") if svg is not None else None
    return tag("figure", tag("figcaption", title), svg, legend, small, readout)


def _svg(
    parts: Iterable[Html], raster: Raster, label: str, kind: str, grid: Program, cells: Any,
    picture: MemoryPicture | None = None,
) -> Html:  # fmt: skip
    width, height = raster.width, raster.height
    size = 20 if width <= 16 else 14 if width <= 32 else 9
    layout = (raster.rows, raster.columns, raster.down, raster.across, int(raster.wraps), width)
    return tag(
        "svg", join(parts), viewBox=f"0 0 {width} {height}", width=width * size,
        height=height * size, role="img", aria_label=label, tabindex="0", class_=f"map {kind}",
        data_kind=kind, data_raster=",".join(map(str, layout)), data_grid=",".join(map(str, grid)),
        data_shape=None if picture is None else ",".join(map(str, picture.shape)),
        data_name=None if picture is None else picture.name, data_runs=_runs(cells),
    )  # fmt: skip


def _runs(cells: Any) -> str:
    """The cells in reading order: `value` or `value*count`, apart by spaces."""
    parts = []
    for value, group in groupby(cells.reshape(-1).tolist()):
        count = len(list(group))
        parts.append(f"{value}*{count}" if count > 1 else str(value))
    return " ".join(parts)


def _path(chosen: Any, raster: Raster, style: str, words: str) -> Html | None:
    """The chosen cells in one colour; neighbours of a line are one rectangle in large maps."""
    if not chosen.any():
        return None
    apart = chosen.size <= SMALL
    side = "h.88v.88h-.88z" if apart else ""
    shapes = []
    for row in np.flatnonzero(chosen.any(axis=1)).tolist():
        flags = np.concatenate([[False], chosen[row], [False]]).astype(np.int8)
        edges = np.flatnonzero(np.diff(flags)).tolist()
        for left, right in zip(edges[::2], edges[1::2], strict=True):
            if apart:
                shapes += [f"M{x}.06 {row}.06{side}" for x in range(left, right)]
            else:
                shapes.append(f"M{left} {row}h{right - left}v1h-{right - left}z")
    body = tag("path", d="".join(shapes), class_=style)
    return tag("g", tag("title", words), body)


def _ring(number: int, element: Element, picture: MemoryPicture) -> Html | None:
    """A ring around the cell of an element, which leads to the finding."""
    raster = picture.raster
    if len(element) != len(picture.shape) or any(
        not 0 <= i < n for i, n in zip(element, picture.shape, strict=True)
    ):
        return None
    flat = int(np.ravel_multi_index(element, picture.shape)) if picture.shape else 0
    row, column = divmod(flat, raster.columns)
    if raster.wraps:
        y, x = divmod(column // raster.across, SIDE)
    else:
        y, x = row // raster.down, column // raster.across
    ring = tag("rect", x=x, y=y, width=1, height=1, class_="ring")
    words = f"{element_text(picture.name, element)}: finding {number}"
    return tag("a", tag("title", words), ring, href=f"#finding-{number}")


__all__ = ["grid_map", "memory_map", "program_of"]
