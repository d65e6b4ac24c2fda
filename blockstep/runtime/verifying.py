"""`blockstep.verify` and `blockstep.precision`. They bring the whole compiler with them, so it is imported
when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blockstep.runtime.ladder import Climb, Rung
    from blockstep.runtime.precision import PrecisionReport
    from blockstep.runtime.whatif.comparing import Table


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
    every: bool = False, compiled: bool = False, **kwargs: Any,
) -> PrecisionReport:  # fmt: skip
    """Runs one launch `kernel[grid](*args, **kwargs)` with float64 beside every float value:
    `print(report)` shows by source line where bits are lost and how, and which decision about types
    would give them back, measured.

    `reference` has arrays by parameter name, of what outputs should be: each differs by rounding
    (drift) or by more than that (bug). `every`: all program instances are measured, of large launches
    too. `compiled`: what fast code costs (approximate functions, fused multiply-add) is measured on the
    ptx machine. The arguments are afterwards as they were before. Raises what a launch raises, KeyError
    and ValueError for references that fit no output."""
    from blockstep.runtime.precision import precision as measured

    return measured(
        kernel, args, grid=grid, reference=reference, every=every, compiled=compiled, **kwargs
    )


def compare_formats(
    kernel: Any, args: Sequence[Any] = (), *, grid: Any,
    formats: Sequence[str] = ("fp8e4nv", "fp8e5", "bf16", "fp16", "tf32", "fp32"), **kwargs: Any,
) -> Table:  # fmt: skip
    """Runs one launch `kernel[grid](*args, **kwargs)` in each of several float formats: a compile-time
    value that is a format is switched, or else all float arrays are converted. `print(table)` shows how
    far each is from the launch as it is given in float64, `table.svg()` is a picture.

    The arguments are afterwards as they were before. Raises what a launch raises, ValueError where there
    is nothing to switch, and for a name that is no format."""
    from blockstep.runtime.precision import compare_formats as compared

    return compared(kernel, args, grid=grid, formats=formats, **kwargs)


__all__ = ["compare_formats", "precision", "verify"]
