"""How a block lies in shared memory on its way out of a lane's registers through the copy engine, and
in how many rounds it goes."""

from __future__ import annotations

from collections.abc import Sequence

from blockstep.compiler.layouts import axes, matrices
from blockstep.compiler.layouts.shared import WIDEST_BOX, boxes, cost
from blockstep.ir.layout import Layout

BOX_ALIGNMENT = 128  # bytes
WIDTHS = (0, 128, 64, 32)  # bytes of the swizzles; 0: none


def widths(layout: Layout, itemsize: int, capability: int) -> list[int]:
    """The swizzles that are worth a thought, the one with which a block is stored in the fewest
    wavefronts first: none, or the widest there is, since the engine moves a wide row in the time of
    a narrow one. Boxes side by side begin at multiples of `BOX_ALIGNMENT` bytes."""
    found = matrices.whole_rows(layout, itemsize, capability)
    held = layout if found is None else found.rows
    row = layout.shape[-1] * itemsize
    rows = layout.numel // layout.shape[-1]
    fitting = [w for w in WIDTHS if w <= row and (w == row or rows * w % BOX_ALIGNMENT == 0)]
    return sorted(
        fitting[:2],
        key=lambda width: cost(held, boxes(layout.shape, itemsize, width), itemsize),
    )


def box_lengths(shape: Sequence[int], itemsize: int, width: int) -> tuple[int, ...]:
    """The lengths of a box of a block with rows of `width` bytes (0: no swizzle), outermost first."""
    columns = width // itemsize if width else min(shape[-1], WIDEST_BOX)
    return *(min(n, WIDEST_BOX) for n in shape[:-1]), columns


def most_rounds(layout: Layout, columns: int) -> list[int]:
    """Bits of elements that tell rounds apart, the highest first: each half of the columns of the
    last axis, as long as registers alone tell them apart and `columns` are left, those of a box."""
    found = []
    for bit in reversed(range(axes.bits_of(layout.shape[-1]))):
        if 1 << bit < columns or not register_alone(layout, 1 << bit):
            break
        found.append(bit)
    return found


def register_alone(layout: Layout, element: int) -> bool:
    """Whether a bit of elements is exactly a register bit."""
    moving = [basis for basis in layout.bases if basis & element]
    return moving == [element] and element in layout.registers


def can_be_cut(shape: Sequence[int]) -> bool:
    """Whether boxes of the engine's greatest lengths follow each other in shared memory: of the axes
    but the last, the first alone may be longer."""
    return all(n <= WIDEST_BOX for n in shape[1:-1])


__all__ = ["box_lengths", "can_be_cut", "most_rounds", "register_alone", "widths"]
