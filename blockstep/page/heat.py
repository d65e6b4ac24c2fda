"""The elements of a block: a table of few, a heat map of many."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from blockstep.findings.captured import raster_of
from blockstep.language.facts import Facts, shown
from blockstep.page.html import Html, tag

MOST_IN_TABLE = 256
EDGE = 6  # rows and columns at each end of a table that is cut
SMALL = 24  # elements: up to it the table alone says it
LEVELS = 16


def heat(found: Facts) -> Html | None:
    """The block as a picture: the last axis goes across; a cell of several elements shows the one that is
    farthest from zero. None for few elements."""
    if prod(found.shape) <= SMALL:
        return None
    raster = raster_of(found.shape)
    values = np.asarray(found.values, np.float64).reshape(-1)
    lost = np.zeros(values.size, bool) if found.undefined is None else found.undefined.reshape(-1)
    finite = np.isfinite(values) & ~lost
    sizes = np.where(finite, np.abs(values), -1.0)
    at = raster.groups(sizes, -2).argmax(axis=-1)
    pick = np.take_along_axis(raster.groups(np.arange(values.size), -1), at[..., None], -1)[..., 0]
    special = np.where(lost, 1, np.where(np.isfinite(values), 0, 2)).astype(np.int8)
    kinds = raster.groups(special, -1)
    wild, gone = (kinds == 2).any(axis=-1), ((kinds == 1) | (kinds == -1)).all(axis=-1)
    levels = _levels(found, values[np.maximum(pick, 0)])
    cells = np.where(pick < 0, -1, np.where(wild, -2, np.where(gone, -3, levels)))
    return _drawn(cells, f"{found.type_text}: {found.sentence()}")


def _levels(found: Facts, values: Any) -> Any:
    low = float(found.low) if found.low is not None else 0.0
    high = float(found.high) if found.high is not None else 1.0
    with np.errstate(all="ignore"):
        share = (values - low) / ((high - low) or 1.0)
    return np.clip(np.nan_to_num(share) * (LEVELS - 1), 0, LEVELS - 1).astype(int)


def _colour(level: int) -> str:
    """From dark blue over green to yellow: lightness alone tells the order."""
    if level == -2:
        return "#d0342c"
    share = level / (LEVELS - 1)
    return f"hsl({260 - 200 * share:.0f},65%,{28 + 38 * share:.0f}%)"


def _drawn(cells: Any, label: str) -> Html:
    height, width = cells.shape
    size = 14 if width <= 24 else 8
    paths = []
    for level in np.unique(cells[cells != -1]).tolist():
        rows, columns = np.nonzero(cells == level)
        d = "".join(
            f"M{x} {y}h1v1h-1z" for y, x in zip(rows.tolist(), columns.tolist(), strict=True)
        )
        fill = "rgba(128,128,128,.3)" if level == -3 else _colour(level)
        paths.append(tag("path", d=d, fill=fill))
    return tag(
        "svg", paths, viewBox=f"0 0 {width} {height}", width=width * size, height=height * size,
        role="img", aria_label=label,
    )  # fmt: skip


def values_table(found: Facts) -> Html | None:
    """The elements of a block of at most two axes; the middle of a long one is left out."""
    if len(found.shape) > 2:
        return None
    values = np.asarray(found.values)
    grid = values.reshape(1, -1) if values.ndim < 2 else values
    lost = None if found.undefined is None else found.undefined.reshape(grid.shape)
    whole = grid.size <= MOST_IN_TABLE and grid.shape[1] <= 32
    rows, columns = (_kept(n, whole) for n in grid.shape)
    head = [tag("th")] + [tag("th", "…" if c is None else c) for c in columns]
    body = [_row(grid, lost, r, columns) for r in rows]
    return tag("table", tag("tr", head), body)


def _kept(n: int, whole: bool) -> list[int | None]:
    """Positions that are shown; None for those that are left out."""
    if whole or n <= 2 * EDGE:
        return list(range(n))
    return [*range(EDGE), None, *range(n - EDGE, n)]


def _row(grid: Any, lost: Any, row: int | None, columns: list[int | None]) -> Html:
    cells = [tag("th", "…" if row is None else row)]
    for column in columns:
        if row is None or column is None:
            cells.append(tag("td", "…"))
            continue
        value = grid[row, column]
        wild = value.dtype.kind == "f" and not np.isfinite(value)
        style = "u" if lost is not None and lost[row, column] else "nan" if wild else None
        cells.append(tag("td", shown(value), class_=style))
    return tag("tr", cells)


__all__ = ["heat", "values_table"]
