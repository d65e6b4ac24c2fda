"""Whether the source itself is in order: a launch that races means nothing, and its compiled form
may do anything."""

from __future__ import annotations

from blockstep.errors import TritonError
from blockstep.findings import OURS, Finding
from blockstep.runtime.checking import check
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.machines import silent
from blockstep.runtime.ladder.touched import Heard, Touched
from blockstep.runtime.ladder.writers import listen
from blockstep.runtime.launch import launch as run
from blockstep.runtime.session import machine


def errors_of(launch: Launch) -> list[Finding]:
    """What `blockstep check` finds wrong with a launch. Memory is put back."""
    launch.memory.restore()
    try:
        with machine("auto"), check() as report, silent():
            run(launch.function, launch.args, launch.kwargs, grid=launch.grid, warmup=False)
    except (TritonError, AssertionError):
        pass  # the findings say it
    finally:
        launch.memory.restore()
    return [f for f in report.errors if f.kind not in OURS]


def touched_of(launch: Launch) -> Touched:
    """What the source reads and writes, as the step machine does. Memory is put back."""
    touched = Touched(launch.bound.space)
    try:
        listen(launch, Heard(touched))
    finally:
        launch.memory.restore()
    return touched


__all__ = ["errors_of", "touched_of"]
