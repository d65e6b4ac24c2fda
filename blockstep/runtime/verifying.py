"""`blockstep.verify` and `blockstep.precision`. They bring the whole compiler with them, so it is imported
when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blockstep.runtime.ladder import Climb, Rung
    from blockstep.runtime.precision import PrecisionReport


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


def precision(
    kernel: Any, args: Sequence[Any] = (), *, grid: Any, reference: Mapping[str, Any] | None = None,
    every: bool = False, **kwargs: Any,
) -> PrecisionReport:  # fmt: skip
    """Runs one launch `kernel[grid](*args, **kwargs)` with float64 beside every float value:
    `print(report)` shows by source line where bits are lost and how, and which decision about types
    would give them back, measured.

    `reference` has arrays by parameter name, of what outputs should be: each differs by rounding
    (drift) or by more than that (bug). `every`: all program instances are measured, of large launches
    too. The arguments are afterwards as they were before. Raises what a launch raises, KeyError and
    ValueError for references that fit no output."""
    from blockstep.runtime.precision import precision as measured

    return measured(kernel, args, grid=grid, reference=reference, every=every, **kwargs)


__all__ = ["precision", "verify"]
