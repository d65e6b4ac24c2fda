"""Launches with shadows on both machines, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blockstep.interp.grid.checks import UNJUDGED
from blockstep.interp.grid.machine import GridMachine
from blockstep.interp.grid.plan import plan
from blockstep.interp.shadows import launching
from blockstep.interp.shadows.records import LineRecord, ShadowResult
from blockstep.runtime import precision
from blockstep.runtime.ladder.launch import Launch, take


def captured(kernel: Any, args: Sequence[Any], grid: tuple[int, ...], **told: Any) -> Launch:
    """A call as a launch."""
    return take(kernel, tuple(args), told, grid)


def on_grid(launch: Launch) -> ShadowResult:
    """With shadows on the grid machine, on the front end's own IR; memory is put back."""
    ir = launch.made
    try:
        return launching.on_grid(ir, plan(ir), launch.arguments, launch.grid)
    finally:
        launch.memory.restore()


def on_step(launch: Launch) -> ShadowResult:
    """With shadows on the step machine; memory is put back."""
    try:
        return precision._on_step(launch, "")
    finally:
        launch.memory.restore()


def plainly(launch: Launch) -> None:
    """The grid machine without shadows; what it writes stays."""
    ir = launch.made
    GridMachine(ir, plan(ir), launch.grid, launch.arguments, UNJUDGED).run()


def facts(record: LineRecord) -> tuple[Any, ...]:
    """What both machines must say of an operation (but for the last digits of sums)."""
    told = (record.worst, record.cancellation, record.overflow, record.underflow, record.nan)
    return (
        record.span.line, record.op, record.type, record.elements, record.worst_ulps,
        record.introduced_ulps, record.cancelled, record.overflowed, record.underflowed,
        record.vanished, record.saturated, record.subnormal, record.nan_born, record.inf_born,
        record.decided, f"{record.sum_ulps:.9g}", told,
    )  # fmt: skip


def both(launch: Launch) -> ShadowResult:
    """The result, which is the same on both machines. (What atomics leave is looked at after each
    batch, so only their outputs are.)"""
    grid, step = on_grid(launch), on_step(launch)
    ours, theirs = (
        sorted(facts(r)[:-1] for r in found.lines if not r.op.startswith("atomic"))
        for found in (grid, step)
    )
    assert ours == theirs
    for name, output in grid.outputs.items():
        assert (output.shadow == step.outputs[name].shadow).all() or output.nan
    return grid
