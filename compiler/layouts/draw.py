"""A layout as text: which holder has each element, and which elements each lane holds.

Big blocks are cut: the first rows and columns are drawn, and of the others those whose number is
a power of two, which is all there is to know, since a layout is linear: the holder of row 5 is
the XOR of those of rows 4 and 1. What is left out is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as positions
from math import prod

from blockstep.compiler.layouts import axes
from blockstep.compiler.layouts.linear import Bits, contiguous, invert, redundant
from blockstep.ir.layout import LANE_BITS, Layout, SharedLayout

MOST_ROWS = 16
MOST_MATRICES = 4


def draw(layout: Layout, columns: int = 100) -> str:
    """The layout's line, its grid of holders and its table of lanes, `columns` characters wide."""
    parts = [str(layout), grid(layout, columns), lanes(layout, columns)]
    return "\n\n".join(parts)


def grid(layout: Layout, columns: int = 100) -> str:
    """For every element its holder, as `w0 l03 r1` (warp 0, lane 3, register 1; the CTA and the
    warp where there are several). Elements of consecutive registers share a cell: `r0-3`."""
    *batch, rows, across = _matrix(layout, columns)
    run, flat = _shared_cell(layout), layout.rank < 2
    gutter = len(str(layout.numel if flat else rows)) + 2
    some_batches = [_some(length, MOST_MATRICES) for length in batch]
    some_rows = _some(rows, MOST_ROWS)
    some_columns = [n * run for n in _some(across // run, _room(layout, columns, gutter))]
    head = [f"+{column}" if flat else str(column) for column in some_columns]
    holders, size, tables = invert(layout), _widest_cell(layout), []
    for at in positions(*some_batches):
        first = axes.flat(batch, at) * rows * across
        body = []
        for row in some_rows:
            begin = row * across
            cells = [holders.of(first + begin + column) for column in some_columns]
            name = str(begin if flat else row)
            body.append((name, [_holder(layout, cell, run) for cell in cells]))
        title = [f"[{', '.join(map(str, at))}, :, :]"] if at else []
        tables += [*title, *_table(head, body, gutter, size)]
    left_out = [_left_out(n, len(d), "matrices") for n, d in zip(batch, some_batches, strict=True)]
    left_out.append(_left_out(rows, len(some_rows), "rows"))
    left_out.append(_left_out(across, len(some_columns) * run, "columns"))
    return "\n".join([*tables, *filter(None, [_said(left_out), _copies(layout)])])


def lanes(layout: Layout, columns: int = 100) -> str:
    """For lanes of the first warp, and lane 0 of others, the elements of their registers."""
    run = _shared_cell(layout)

    def cell(holder: Bits) -> str:
        return _element(layout, layout.element(*holder), run)

    # Coordinates are never longer than those of the last element.
    size = len(_element(layout, layout.numel - run, run)) + 2
    some_lanes = _some(1 << LANE_BITS, MOST_ROWS)
    holders = [Bits(0, lane, 0, 0) for lane in some_lanes]
    holders += [Bits(0, 0, 1 << bit, 0) for bit in range(len(layout.warps))]
    holders += [Bits(0, 0, 0, 1 << bit) for bit in range(len(layout.ctas))]
    names = [_lane(layout, holder) for holder in holders]
    gutter = max(map(len, names)) + 2
    some = _some(layout.per_lane // run, max(1, (columns - gutter) // size))
    body = [
        (name, [cell(holder._replace(registers=register * run)) for register in some])
        for name, holder in zip(names, holders, strict=True)
    ]
    left_out = [
        _left_out(1 << LANE_BITS, len(some_lanes), "lanes"),
        _left_out(layout.num_warps, 1 + len(layout.warps), "warps"),
        _left_out(layout.num_ctas, 1 + len(layout.ctas), "CTAs"),
        _left_out(layout.per_lane, len(some) * run, "registers"),
    ]
    head = [_run("r", register * run, run) for register in some]
    return "\n".join([*_table(head, body, gutter, size), *filter(None, [_said(left_out)])])


def draw_shared(layout: SharedLayout, columns: int = 100) -> str:
    """The layout's line and, of a matrix, the address of every element, counted in elements. The
    axis along which addresses run is drawn across; those in a row share a cell: `8-15`."""
    if len(layout.shape) != 2:
        return str(layout)
    along = next(a for a, c in enumerate(axes.coordinates(layout.shape, layout.elements[0])) if c)
    rows, across = layout.shape[1 - along], layout.shape[along]
    steps = [axes.along(layout.shape, along, 1 << bit) for bit in range(axes.bits_of(across))]
    run = 1
    while run < across and layout.elements[axes.bits_of(run)] == steps[axes.bits_of(run)]:
        run *= 2
    run = min(run, _unswizzled(layout, run, along))
    size = len(f"{layout.shape[0] * layout.shape[1] - run}-{rows * across - 1}") + 2
    some_rows = _some(rows, MOST_ROWS)
    gutter = len(str(rows)) + 2
    some = [n * run for n in _some(across // run, max(1, (columns - gutter) // size))]
    body = []
    for row in some_rows:
        at = axes.along(layout.shape, 1 - along, row)
        cells = [layout.address(at ^ axes.along(layout.shape, along, column)) for column in some]
        body.append((str(row), [_run("", cell, run) for cell in cells]))
    left_out = [
        _left_out(rows, len(some_rows), "rows"),
        _left_out(across, len(some) * run, "columns"),
    ]
    head = [str(column) for column in some]
    title = [] if along else ["transposed: axis 1 down, axis 0 across"]
    table = [*title, *_table(head, body, gutter, size)]
    return "\n".join([str(layout), "", *table, *filter(None, [_said(left_out)])])


def _unswizzled(layout: SharedLayout, run: int, along: int) -> int:
    """How many of the first `run` columns no row moves apart."""
    others = layout.elements[axes.bits_of(run) :]
    while run > 1:
        low = axes.along(layout.shape, along, run - 1)
        if not any(element & low for element in others):
            break
        run //= 2
    return run


def _shared_cell(layout: Layout) -> int:
    """How many elements along the last axis are of consecutive registers, and share a cell."""
    return contiguous(layout, [layout.rank - 1]) if layout.shape else 1


def _widest_cell(layout: Layout) -> int:
    """The width of a cell of the grid, with the space after it."""
    run = _shared_cell(layout)
    last = Bits(layout.per_lane - run, 31, layout.num_warps - 1, layout.num_ctas - 1)
    return len(_holder(layout, last, run)) + 2


def _room(layout: Layout, columns: int, gutter: int) -> int:
    """How many cells fit a line."""
    return max(1, (columns - gutter + 2) // _widest_cell(layout))


def _matrix(layout: Layout, columns: int) -> tuple[int, ...]:
    """The shape to draw: a row of a 1-D block is as many elements as fit a line."""
    if layout.rank >= 2:
        return layout.shape
    room = _room(layout, columns, len(str(layout.numel)) + 2)
    across = min(layout.numel, _shared_cell(layout) << room.bit_length() - 1)
    return layout.numel // across, across


def _some(count: int, room: int) -> list[int]:
    """All numbers below a power of two if there is room; else the first ones, as many as leave
    room for the powers of two after them."""
    first = count
    while first > 1 and first + axes.bits_of(count // first) > room:
        first //= 2
    powers = [first << bit for bit in range(axes.bits_of(count // first))]
    return [*range(first), *powers][: max(1, room)]


def _holder(layout: Layout, holder: Bits, run: int) -> str:
    return f"{_lane(layout, holder)} {_run('r', holder.registers, run)}"


def _lane(layout: Layout, holder: Bits) -> str:
    cta = f"c{holder.ctas} " if layout.ctas else ""
    warp = f"w{holder.warps:0{len(str(layout.num_warps - 1))}} " if layout.warps else ""
    return f"{cta}{warp}l{holder.lanes:02}"


def _run(letter: str, first: int, count: int) -> str:
    return f"{letter}{first}" if count == 1 else f"{letter}{first}-{first + count - 1}"


def _element(layout: Layout, element: int, run: int) -> str:
    """The coordinates of an element and its neighbours: `(3, 0-3)`."""
    if not layout.shape:
        return "()"
    *others, last = axes.coordinates(layout.shape, element)
    return f"({', '.join([*map(str, others), _run('', last, run)])})"


def _table(
    head: Sequence[str], body: Sequence[tuple[str, Sequence[str]]], gutter: int, size: int
) -> list[str]:
    lines = [("", head), *body]
    return [
        (name.rjust(gutter - 2) + "  " + "".join(cell.ljust(size) for cell in cells)).rstrip()
        for name, cells in lines
    ]


def _left_out(count: int, drawn: int, what: str) -> str:
    return f"{count - drawn} of {count} {what}" if drawn < count else ""


def _said(left_out: Sequence[str]) -> str:
    parts = [part for part in left_out if part]
    return f"left out: {', '.join(parts)}" if parts else ""


def _copies(layout: Layout) -> str:
    """Which bits only make copies: the holders drawn have them 0."""
    spare = redundant(layout)
    kinds = zip(("register", "lane", "warp", "CTA"), spare, strict=True)
    listed = [_bits(kind, mask) for kind, mask in kinds if mask]
    if not listed:
        return ""
    copies = prod(1 << mask.bit_count() for mask in spare)
    return f"every element has {copies} holders; copies are made by {' and '.join(listed)}"


def _bits(kind: str, mask: int) -> str:
    values = [str(1 << bit) for bit in range(mask.bit_length()) if mask >> bit & 1]
    return f"{kind} bit{'s' * (len(values) > 1)} {', '.join(values)}"


__all__ = ["draw", "draw_shared", "grid", "lanes"]
