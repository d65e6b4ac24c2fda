"""Fragments of 16-bit elements as matrices of 8 rows of 16 bytes (PTX ISA, `stmatrix`, from sm_90 on).

An instruction of a warp stores four matrices of 8 rows of 8 elements: lane l holds two neighbours of row
l // 4 of each, and names where row l % 8 of matrix l // 8 begins. To memory that is a store of 16 bytes
from lanes that each hold whole rows; `whole_rows` is the layout in which they would. Every rule about
vectors and bank conflicts is asked of that layout.
"""

from __future__ import annotations

from dataclasses import dataclass

from blockstep.compiler.layouts.linear import redundant
from blockstep.compiler.layouts.shared import SharedLayout, widest
from blockstep.ir.layout import Layout

ROW = 8  # elements
SIZE = 2  # bytes of an element
_FIRST = 90  # the architecture
_PAIR = 1  # register bits of a pair of neighbours
FOUR = 2  # and of four matrices


@dataclass(frozen=True, slots=True)
class Matrices:
    """A fragment as matrices: `rows`, the layout whose lanes hold whole rows, and what is left of
    the registers once those are gone, `rest`."""

    rows: Layout
    rest: tuple[int, ...]


def whole_rows(source: Layout, size: int, capability: int) -> Matrices | None:
    """How a layout of elements of `size` bytes can be stored as matrices; None: it cannot."""
    pair, others = source.registers[:_PAIR], source.registers[_PAIR:]
    if size != SIZE or capability < _FIRST or len(others) < FOUR or len(source.lanes) != 5:
        return None
    spare = redundant(source)
    if spare.registers or spare.lanes:
        return None
    four, rest = others[:FOUR], others[FOUR:]
    rows = Layout(
        source.shape, (*pair, *source.lanes[:2], *rest), (*source.lanes[2:], *four),
        source.warps, source.ctas,
    )  # fmt: skip
    return Matrices(rows, rest)


def fits(found: Matrices, shared: SharedLayout) -> bool:
    """Whether the rows of the matrices are rows in memory: the pair first, then the lanes'."""
    pair, lanes_ = found.rows.registers[0], found.rows.registers[1:3]
    straight = [shared.address(image) for image in (pair, *lanes_)] == [1, 2, 4]
    return straight and widest(found.rows, shared, SIZE) == ROW


__all__ = ["FOUR", "ROW", "SIZE", "Matrices", "fits", "whole_rows"]
