"""Whether the source itself is in order: a launch that races means nothing, and its compiled form
may do anything."""

from __future__ import annotations

from blockstep.findings import OURS, Finding
from blockstep.interp.bound import Unbounded
from blockstep.interp.grid.plan import ATOMICS, any_order
from blockstep.ir import Function
from blockstep.runtime.checking import check
from blockstep.runtime.ladder.judging import keeps_bits
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.machines import KERNEL_ERRORS, silent
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
    except KERNEL_ERRORS:
        pass  # the findings say it
    finally:
        launch.memory.restore()
    return [f for f in report.errors if f.kind not in OURS]


def promises(function: Function) -> bool:
    """Whether a function or one that it calls promises the compiler something."""
    operations = [o for f in (function, *function.callees) for o in f.walk()]
    return any(o.name in ("assume", "hint") for o in operations)


def sees_order(function: Function) -> bool:
    """Whether what a program instance reads may depend on which came before it: it looks at the old
    values of atomics, or waits. Then another order may touch other memory."""
    operations = [o for f in (function, *function.callees) for o in f.walk()]
    return any(
        (o.name in ATOMICS and not any_order(o)) or bool(o.attributes.get("volatile"))
        for o in operations
    )


def reach_is_decided(launch: Launch, exact: bool) -> bool:
    """Whether every legal execution touches the same memory: neither the order of program instances
    nor a value that the bound leaves open decides an address, a mask or a branch."""
    if sees_order(launch.made):
        return False
    if exact and keeps_bits(launch.made):
        return True
    try:
        return not launch.bounds(exact).reach_in_doubt
    except Unbounded:
        return False


def touched_of(launch: Launch) -> Touched:
    """What the source reads and writes, as the step machine does. Memory is put back."""
    touched = Touched(launch.bound.space)
    try:
        listen(launch, Heard(touched))
    finally:
        launch.memory.restore()
    return touched


__all__ = ["errors_of", "promises", "reach_is_decided", "touched_of"]
