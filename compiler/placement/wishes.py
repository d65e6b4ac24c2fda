"""Layouts that single operations ask of their block operands, by name."""

from __future__ import annotations

from collections.abc import Callable

from blockstep.compiler import layouts
from blockstep.ir import Layout, Operation

Wish = Callable[[Operation, Layout], Layout]


def _packed(operation: Operation, found: Layout) -> Layout:
    """Groups of `pack` neighbours of a 1-D block in consecutive registers of one lane."""
    size = min(operation.attributes["pack"], found.numel)
    if _groups(found, size):
        return found
    return layouts.coalesced(found.shape, (0,), size, found.num_warps)


def _groups(layout: Layout, size: int) -> bool:
    """Whether register numbers modulo `size` are element numbers modulo `size`."""
    low = size.bit_length() - 1
    wanted = tuple(1 << k for k in range(low))
    others = layout.registers[low:] + layout.lanes + layout.warps + layout.ctas
    return layout.registers[:low] == wanted and not any(basis & (size - 1) for basis in others)


WISHES: dict[str, Wish] = {"asm_packed": _packed}

__all__ = ["WISHES", "Wish"]
