"""Drawn layouts: every cell is true, lines fit, and what is left out is said."""

from __future__ import annotations

import re
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from blockstep.compiler import layouts as ll
from blockstep.compiler.layouts.draw import draw, grid, lanes
from blockstep.ir import Layout
from tests.compiler.layouts.random_layouts import layouts

HOLDER = re.compile(r"(?:c(\d+) )?(?:w(\d+) )?l(\d\d) r(\d+)(?:-(\d+))?")


def cells(text: str) -> list[tuple[int, int, tuple[int, ...]]]:
    """Every cell of a grid: the label of its row, that of its column, cta warp lane registers."""
    found, head, where = [], list[int](), list[int]()
    for line in text.splitlines():
        if HOLDER.search(line):
            label = int(line.split()[0])
            for at, match in zip(where, HOLDER.finditer(line), strict=True):
                assert match.start() == at, "a cell is not under its head"
                numbers = [int(number or 0) for number in match.groups()[:4]]
                numbers.append(int(match[5] or match[4]))
                found.append((label, head[where.index(at)], tuple(numbers)))
        else:
            heads = list(re.finditer(r"\+?(\d+)", line))
            head, where = [int(one[1]) for one in heads], [one.start() for one in heads]
    return found


@given(layouts(), st.integers(40, 120))
def test_every_holder_drawn_has_the_element(layout: Layout, columns: int) -> None:
    if layout.rank > 2:
        layout = ll.reshape(layout, (layout.shape[0], layout.numel // layout.shape[0]))
    text = grid(layout, columns)
    drawn = cells(text)
    assert drawn
    across = layout.shape[1] if layout.rank == 2 else 1
    for row, column, (cta, warp, lane, first, last) in drawn:
        for register in range(first, last + 1):
            element = layout.element(register, lane, warp, cta)
            assert element == row * across + column + register - first
    complete = sum(last - first + 1 for *_, (*_, first, last) in drawn) == layout.numel
    assert complete == ("left out" not in text)


@given(layouts(), st.integers(40, 120))
def test_lines_fit_the_terminal(layout: Layout, columns: int) -> None:
    for text in (grid(layout, columns), lanes(layout, columns)):
        tables = [
            line for line in text.splitlines() if "left out" not in line and "are" not in line
        ]
        assert max(map(len, tables)) <= columns


def test_an_accumulator_is_drawn_whole() -> None:
    text = grid(ll.mma_accumulator((16, 8), (1, 1))).splitlines()
    assert len(text) == 17
    assert text[:3] + text[9:10] == [
        "    0         2         4         6",
        " 0  l00 r0-1  l01 r0-1  l02 r0-1  l03 r0-1",
        " 1  l04 r0-1  l05 r0-1  l06 r0-1  l07 r0-1",
        " 8  l00 r2-3  l01 r2-3  l02 r2-3  l03 r2-3",
    ]


LANE = re.compile(r"^(?:c(\d+) )?(?:w(\d+) )?l(\d\d)  (.*)$")


@given(layouts(), st.integers(40, 120))
def test_every_element_in_the_table_of_lanes_is_held_there(layout: Layout, columns: int) -> None:
    head, *body = lanes(layout, columns).splitlines()
    registers = [int(one) for one in re.findall(r"r(\d+)", head)]
    rows = [match for line in body if (match := LANE.match(line))]
    assert len(rows) >= 10
    for match in rows:
        cta, warp, lane = (int(number or 0) for number in match.groups()[:3])
        found = re.findall(r"\(([^)]*)\)", match[4])
        for register, text in zip(registers, found, strict=True):
            element = layout.element(register, lane, warp, cta)
            first = tuple(int(part.split("-")[0]) for part in text.split(", ") if part)
            at = [element // size for size in _strides(layout.shape)]
            assert first == tuple(p % n for p, n in zip(at, layout.shape, strict=True))


def _strides(shape: tuple[int, ...]) -> list[int]:
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def test_batches_are_drawn_one_by_one_and_copies_are_told() -> None:
    text = draw(ll.mma_accumulator((8, 16, 8), (2, 1, 1)))
    titles = re.findall(r"^\[.*\]$", text, re.MULTILINE)
    assert titles == ["[0, :, :]", "[1, :, :]", "[2, :, :]", "[4, :, :]"]
    assert "left out: 4 of 8 matrices\n" in text
    copied = draw(ll.drop_axis(ll.mma_accumulator((64, 64), (2, 2)), 1))
    said = "every element has 8 holders; copies are made by lane bits 1, 2 and warp bit 1"
    assert said in copied.splitlines()
    assert draw(ll.scalar(1)).splitlines()[3] == "0  l00 r0"
