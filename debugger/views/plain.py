"""Views as plain text, for a prompt, a report, a log: no styles, no cursor."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.debugger.session import GridState
from blockstep.debugger.views.blocks import Block, block_of
from blockstep.debugger.views.grid import grid
from blockstep.debugger.views.heat import heat
from blockstep.debugger.views.memory import Memory, memory
from blockstep.debugger.views.palette import Palette
from blockstep.debugger.views.planes import Look

WIDTH, HEIGHT = 80, 24


def grid_text(state: GridState, width: int = WIDTH, height: int = HEIGHT, ascii: bool = False) -> str:  # fmt: skip
    """The map of program instances; of a grid of three axes the first page."""
    return grid(state, Look(cursor=False), width, height, Palette(ascii=ascii)).text


def heat_text(
    name: str, value: Any, width: int = WIDTH, height: int = HEIGHT, ascii: bool = False
) -> str:
    """A value of the kernel, or an array, as a heat map. Raises TypeError for what has no elements."""
    block = block_of(name, value)
    if block is None and not isinstance(value, np.ndarray | np.generic):
        raise TypeError(f"{name} is {type(value).__name__}, which has no elements")
    if block is None:
        block = Block(name, f"{value.dtype}[{', '.join(map(str, value.shape))}]", value)
    return heat(block, Look(cursor=False), width, height, Palette(ascii=ascii)).text


def memory_text(shown: Memory, width: int = WIDTH, height: int = HEIGHT, ascii: bool = False) -> str:  # fmt: skip
    """An argument by last writer."""
    return memory(shown, Look(cursor=False), width, height, Palette(ascii=ascii)).text


__all__ = ["grid_text", "heat_text", "memory_text"]
