"""A launch on the grid machine, and on the step machine where the grid machine does not take it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from blockstep.compiler import passes
from blockstep.compiler.frontend import build_bound
from blockstep.compiler.frontend.cache import key_of
from blockstep.errors import TritonError
from blockstep.interp.checkers.grid import Grid
from blockstep.interp.events import Launched
from blockstep.interp.grid.checks import UNJUDGED, Checks, checks_for
from blockstep.interp.grid.distinct import Shared
from blockstep.interp.grid.machine import GridMachine
from blockstep.interp.grid.memory import Suspicion
from blockstep.interp.grid.plan import Plan, Refused, plan
from blockstep.interp.memory import Storage
from blockstep.ir import Function
from blockstep.language.function import JITFunction
from blockstep.runtime.arguments import Bound
from blockstep.runtime.session import Session

Heard = Callable[[str, Any], None]
LARGEST = 1 << 30  # bytes of memory that is read and written: past it nothing is copied


class Snapshot:
    """Memory as it was, so that the launch can be run again."""

    def __init__(self, storages: list[Storage], flags: bool) -> None:
        self._saved = [
            (s, s.data.copy(), s.written.copy() if flags and s.written is not None else None)
            for s in storages
        ]

    def restore(self) -> None:
        """Puts everything back."""
        for storage, data, flags in self._saved:
            storage.data[...] = data
            if flags is not None:
                assert storage.written is not None
                storage.written[...] = flags


def compiled(function: JITFunction, bound: Bound, num_warps: int) -> tuple[Function, Plan]:
    """IR after the passes, and its plan. Raises Refused where the launch needs the step machine."""
    refused: dict[Any, str] = function.device_caches.setdefault("refused", {})
    names = function.prepared.names.identities()
    key = (key_of(bound.arguments), names, num_warps)
    if key in refused:
        raise Refused(refused[key])
    try:
        made = build_bound(function, bound.arguments, num_warps)
        ready: tuple[Function, Plan] | None = made.derived.get("grid")
        if ready is None:
            own = made.clone()
            passes.run(own)
            ready = made.derived["grid"] = own, plan(own)
        return ready
    except (Refused, TritonError) as error:
        refused[key] = getattr(error, "error_message", None) or str(error)
        raise Refused(refused[key]) from None


def arguments_of(bound: Bound) -> dict[str, Any]:
    """By IR parameter name: a number, or the view behind a pointer."""
    found: dict[str, Any] = {}
    for argument in bound.arguments:
        for part in argument.walk():
            if part.kind == "scalar":
                found[part.name] = part.value
            elif part.kind == "pointer":
                found[part.name] = part.view
            elif part.kind == "descriptor":
                found[part.name] = part.view
                for i, n in enumerate(part.value.shape):
                    found[f"{part.name}.shape{i}"] = int(n)
                for i, n in enumerate(part.value.strides):
                    found[f"{part.name}.stride{i}"] = int(n)
    return found


def needs_step(current: Session) -> str | None:
    """Why somebody needs the program instances one after another, if anybody does."""
    chosen = current.options
    if chosen.machine == "step":
        return ""
    if chosen.programs is not None:
        return "only some program instances were asked for"
    if current.on_instance is not None or debugged():
        return "a debugger or a tracing tool is at work"
    return None


def run(
    function: JITFunction, bound: Bound, launched: Launched, current: Session, judged: bool,
    num_warps: int = 4,
) -> None:  # fmt: skip
    """Runs a launch on the grid machine. Raises Refused, with nothing done, where it cannot."""
    checks = checks_of(current, launched.seed or 0) if judged else UNJUDGED
    machine = on_grid(function, bound, launched.grid, checks, launched.seed or 0, num_warps)
    if checks.grid:
        checker = Grid(current.outputs)
        checker.launch(launched)
        total = launched.grid[0] * launched.grid[1] * launched.grid[2]
        idle = machine.idle if machine.accessed else 0
        stores = [kept[1:] for kept in machine.stores.values()]
        checker.summary(idle, machine.examples, total, stores, machine.reads.values())


def debugged() -> bool:
    """Whether a debugger or a tracing tool is at work. From Python 3.12 on a debugger may watch
    without a trace function."""
    if sys.gettrace() is not None:
        return True
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None


def checks_of(current: Session, seed: int = 0) -> Checks:
    """Outcomes are compared with those of other orders, or asked for in one of them."""
    wants = current.report.wants
    return checks_for(wants, bool(seed) or (current.options.seeds > 1 and wants("order")))


def on_grid(
    function: JITFunction, bound: Bound, grid: tuple[int, int, int], checks: Checks, seed: int = 0,
    num_warps: int = 4, before: tuple[int, int, int] | None = None, heard: Heard | None = None,
) -> GridMachine:  # fmt: skip
    """The machine after the launch, or after the program instances `before` one. `heard` is told of each
    read, write and atomic. Raises Refused, with memory as it was, where it cannot run it or cannot prove
    it clean."""
    ir, chosen = compiled(function, bound, num_warps)
    if seed and not chosen.any_order:
        raise Refused("atomics act in the order of the seed")
    counts = checks.judged and "shares" not in ir.derived
    machine = GridMachine(
        ir,
        chosen,
        grid,
        arguments_of(bound),
        checks,
        counts,
        bool(seed),
        heard=heard,
        before=before,
    )
    if checks.flags:
        for storage in machine.storages(None).values():
            _ = storage.written  # looked up before the kernel writes: it tells what the host wrote
    written = machine.storages(chosen.written)
    if any(s.readonly for s in written.values()):
        raise Refused("the kernel may write to a read-only array")
    lost = _lost(machine, written)
    if sum(s.nbytes for s in lost) > LARGEST:
        raise Refused("the kernel reads and writes more memory than is copied")
    saved = Snapshot(lost, checks.flags)
    try:
        return _proved(machine, saved)
    except (Suspicion, TritonError):
        saved.restore()
        raise Refused("something may be wrong: each program instance is judged by itself") from None


def _lost(machine: GridMachine, written: dict[int, Storage]) -> list[Storage]:
    """The memory that another run of the launch would not find, or leave, as it should be: what is
    both read and written. What is only written is written again in the same places, unless values
    that other program instances may have written decide where."""
    read, steering = (machine.storages(n) for n in (machine.plan.read, machine.plan.steering))
    return [s for k, s in written.items() if k in read or not steering.keys().isdisjoint(written)]


def _proved(machine: GridMachine, before: Snapshot) -> GridMachine:
    """The launch, and once more with every access written down where counting lanes did not do. A
    kernel that is clean all the same stores like that on purpose: it is not counted again."""
    try:
        machine.run()
        return machine
    except Shared:
        before.restore()
    again = GridMachine(
        machine.function, machine.plan, machine.grid, machine.arguments, machine.checks,
        seeded=machine.seeded, heard=machine.heard, before=machine.before,
    )  # fmt: skip
    again.run()
    machine.function.derived["shares"] = True
    return again
