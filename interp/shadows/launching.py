"""`shadowed`: one launch with shadows, and what they tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blockstep.interp.bounds.ranges import form, widened
from blockstep.interp.grid.arena import arena
from blockstep.interp.grid.checks import UNJUDGED
from blockstep.interp.grid.plan import Plan
from blockstep.interp.memory import View
from blockstep.interp.shadows.distance import measured, where_worst
from blockstep.interp.shadows.grid import ShadowMachine
from blockstep.interp.shadows.memory import ShadowMemory
from blockstep.interp.shadows.records import OutputRecord, ShadowResult
from blockstep.interp.shadows.tally import Tally
from blockstep.ir import Function

FEW = 1 << 14
SHARE = 1 / 32


def on_grid(
    function: Function, plan: Plan, arguments: Mapping[str, Any], grid: tuple[int, int, int],
    share: float = 1.0,
) -> ShadowResult:  # fmt: skip
    """A launch on the grid machine. With `share` below 1 only so many program instances run, and memory
    is not what the launch leaves. Raises Suspicion where only the step machine can run it."""
    machine = ShadowMachine(function, plan, grid, dict(arguments), UNJUDGED)
    with arena():
        machine.run_some(share)
        views = [v for v in arguments.values() if isinstance(v, View)]
        total = grid[0] * grid[1] * grid[2]
        return result(function.name, machine.tally, machine.shadows, views, total, machine.measured)


def share_of(function: Function, grid: tuple[int, int, int]) -> float:
    """The share of the program instances that is measured unless somebody asks for more: all of them
    in launches of at most `FEW` elements of float blocks, or whose instances read what others wrote."""
    total = grid[0] * grid[1] * grid[2]
    widest = 1
    for operation in function.walk():
        for value in operation.results:
            widest = max(widest, int(np.prod(value.type.shape or (1,))))
    return 1.0 if total * widest <= FEW else max(SHARE, FEW / (total * widest))


def result(
    kernel: str,
    tally: Tally,
    shadows: ShadowMemory,
    views: list[View],
    programs: int,
    measured: int,
) -> ShadowResult:
    """Records in the order of the source, and the outputs."""
    lines = sorted(
        (r for r in tally.records.values() if not r.quiet),
        key=lambda r: (r.span.file, r.span.line, r.span.column, r.op),
    )
    outputs = {}
    for view in views:
        made = _output(view, shadows)
        if made is not None:
            outputs[view.name] = made
    return ShadowResult(kernel, tuple(lines), outputs, programs, measured)


def _output(view: View, shadows: ShadowMemory) -> OutputRecord | None:
    if view.storage is None or not view.dtype.is_floating() or not view.size:
        return None
    at, shadow = shadows.of_view(view)
    if not shadow.size:
        return None
    kind = view.dtype
    strides = [s * view.itemsize for s in view.strides]
    offset = int(view.base) - view.storage.base
    whole = np.ndarray(view.shape, kind.numpy, view.storage.data.data, offset, strides)
    if at is None:
        values = whole.flatten()  # a copy: memory is put back
    else:
        values = whole[np.unravel_index(at, view.shape)]
    made = OutputRecord(view.name, str(kind), at, values, shadow, view.shape)
    _compare(made, kind)
    return made


def _compare(made: OutputRecord, kind: Any) -> None:
    values = made.values if made.values.dtype.char in "fd" else widened(made.values, kind)
    seen = measured(values, made.shadow, form(kind))
    if seen.special:
        made.nan, made.infinite = int(np.isnan(values).sum()), int(np.isinf(values).sum())
    flat = where_worst(values, made.shadow, form(kind), seen) if seen.worst else 0
    made.index = tuple(
        int(i)
        for i in np.unravel_index(
            flat if made.chosen is None else int(made.chosen[flat]), made.shape
        )
    )
    made.worst_ulps, made.mean_ulps = seen.worst, seen.total / made.elements
    made.relative = float((seen.error_squares / seen.squares) ** 0.5) if seen.squares else 0.0


__all__ = ["on_grid", "result", "share_of"]
