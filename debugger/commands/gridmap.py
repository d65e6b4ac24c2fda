"""`info grid`: the program instances of a launch as a map of characters."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.debugger.session import GridState
from blockstep.diagnostics.words import plural

WIDE, HIGH = 64, 16  # characters; a larger grid is drawn smaller
SIGNS = ">!x+#."  # here, with a finding, the other party, under way, done, not yet
LEGEND = "> here  ! finding  x its other party  + under way  # done  . not yet"


def grid_text(state: GridState) -> str:
    """A row of characters for each y (and z), a character for each x. In a larger grid one stands
    for several instances, and for the one among them that is most worth seeing."""
    x, y, z = state.grid
    rank = _ranks(state).reshape(z, y, x)
    lines = [f"grid ({x}, {y}, {z}): {_counted(state)}"]
    for plane in range(z):
        if z > 1:
            lines.append(f"z = {plane}")
        for first, last in _steps(y, HIGH):
            cells = [
                SIGNS[int(rank[plane, first:last, left:right].min())]
                for left, right in _steps(x, WIDE)
            ]
            lines.append(f"{first:>4} {''.join(cells)}")
    return "\n".join([*lines, LEGEND])


def _ranks(state: GridState) -> Any:
    """Of each instance the number of its sign."""
    found = np.full(state.done.size, 5)
    for number, flags in ((4, state.done), (3, state.begun), (2, state.partner), (1, state.found)):
        found[flags] = number
    if state.here is not None:
        found[state.here] = 0
    return found


def _counted(state: GridState) -> str:
    said = [f"{int(state.done.sum())} of {plural(state.done.size, 'program instance')} done"]
    if state.found.any():
        said.append(f"{int(state.found.sum())} with a finding")
    return ", ".join(said)


def _steps(length: int, most: int) -> list[tuple[int, int]]:
    count = min(length, most)
    return [(length * i // count, length * (i + 1) // count) for i in range(count)]


__all__ = ["grid_text"]
