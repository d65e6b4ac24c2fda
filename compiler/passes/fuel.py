"""How many rewrites a pass may make: to find the one that is wrong, a pass is stopped after the
first, the second, and so on.

A pass asks `left()` before each rewrite and says `spend(operation)` after it. Invariant: between two
rewrites the IR is valid. Without `limited` around it, nothing is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from blockstep.ir import Operation


@dataclass(slots=True, eq=False)
class Fuel:
    """`spent` counts the rewrites; `heard` is told of each, and of the operation it was about."""

    most: int | None = None
    heard: Callable[[int, Operation], None] | None = None
    spent: int = 0


_fuel: ContextVar[Fuel | None] = ContextVar("blockstep_fuel", default=None)


@contextmanager
def limited(
    most: int | None, heard: Callable[[int, Operation], None] | None = None
) -> Iterator[Fuel]:
    """Passes inside make at most so many rewrites, all together; None: all, and they are counted."""
    fuel = Fuel(most, heard)
    token = _fuel.set(fuel)
    try:
        yield fuel
    finally:
        _fuel.reset(token)


def left() -> bool:
    """Whether another rewrite may be made."""
    fuel = _fuel.get()
    return fuel is None or fuel.most is None or fuel.spent < fuel.most


def spend(operation: Operation) -> None:
    """A rewrite was made that began with this operation (which may be gone)."""
    fuel = _fuel.get()
    if fuel is not None:
        fuel.spent += 1
        if fuel.heard is not None:
            fuel.heard(fuel.spent, operation)


__all__ = ["Fuel", "left", "limited", "spend"]
