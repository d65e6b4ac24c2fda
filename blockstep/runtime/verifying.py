"""`blockstep.verify`. The ladder brings the whole compiler with it, so it is imported when it is
asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blockstep.runtime.ladder import Climb, Rung


def verify(
    kernel: Any, args: Sequence[Any] = (), *, grid: Any, rungs: Iterable[Rung] = (), **kwargs: Any
) -> Climb:
    """Runs one launch `kernel[grid](*args, **kwargs)` on every machine and after every pass of the
    compiler, and compares: `print(climb)` shows what became of each rung, `climb.finding` is the
    first that differs, `climb.passed` says that all agree.

    The arguments are afterwards as they were before. `rungs` come after the usual ones. Of a kernel
    that is tuned, the launch with the chosen configuration counts. Raises what a launch raises for
    arguments that it does not take."""
    from blockstep.runtime.ladder import verify as climb

    return climb(kernel, args, grid=grid, rungs=rungs, **kwargs)


__all__ = ["verify"]
