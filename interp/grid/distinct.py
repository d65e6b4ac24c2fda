"""Whether all lanes of a launch's irregular stores go to different elements of an allocation.

One flag an element: every store sets those of its lanes, and at the end as many must be set as lanes
were stored. Equality proves that no two lanes of the whole launch share an element, so that no
program instance meets another or itself; it takes one pass and keeps no addresses. Where it fails,
nothing is known (a lane may have stored the same value twice): `Shared` asks for the launch to be
run again with every access written down.

Invariant: `stored` counts lanes, `flags` is set exactly where one of them stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp.grid.memory import Suspicion, Touch
from blockstep.interp.memory import Storage


class Shared(Suspicion):
    """Two lanes may share an element, and only a log of all accesses can tell how."""


class Distinct:
    """The elements of one allocation that a launch stored to, of one size."""

    def __init__(self, storage: Storage, itemsize: int) -> None:
        self.itemsize = itemsize
        self.flags = np.zeros(storage.nbytes // itemsize, bool)
        self.stored = 0

    def add(self, touch: Touch) -> None:
        """The active lanes of an aligned store. Raises Shared for elements of another size."""
        if touch.itemsize != self.itemsize:
            raise Shared
        index: Any = touch.active()
        self.flags[index] = True
        self.stored += index.size

    def take_in(self, other: Distinct) -> None:
        """What another worker stored; an element of both counts twice."""
        if other.itemsize != self.itemsize:
            raise Shared
        self.flags |= other.flags
        self.stored += other.stored

    def prove(self) -> None:
        """Raises Shared unless no element was stored to twice."""
        if int(np.count_nonzero(self.flags)) != self.stored:
            raise Shared
