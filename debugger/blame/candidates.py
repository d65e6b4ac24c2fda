"""Which program instances touch an element, found on the grid machine.

Where no two instances depend on each other, only those have to be run one operation at a time.
Independent they are if the grid machine proves that no two collide (atomics among themselves apart)
and nobody uses what an atomic gives back: then an instance sees the same, whoever ran before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from blockstep.compiler.passes.inline import Inline
from blockstep.debugger.blame.running import Target
from blockstep.errors import TritonError
from blockstep.interp.grid.checks import UNJUDGED, Checks
from blockstep.interp.grid.machine import GridMachine
from blockstep.interp.grid.memory import Suspicion, Touch
from blockstep.interp.grid.plan import ATOMICS, Plan, Refused, plan
from blockstep.interp.scheduler import Program, program_order
from blockstep.ir import Function
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.machines import without_prints

_PROOF = Checks(judged=True, race=True)


class Dependent(Exception):
    """Only running every instance in its turn tells what one of them does."""


def prepared(launch: Launch) -> tuple[Function, Plan]:
    """IR that makes every access that the source makes. Raises Dependent."""
    try:
        function = without_prints(launch.made).clone()
        Inline().apply(function)
        chosen = plan(function)
    except (TritonError, Refused) as error:
        raise Dependent from error
    if any(o.results and o.results[0].uses for o in function.walk() if o.name in ATOMICS):
        raise Dependent
    return function, chosen


def heard(launch: Launch, hear: Callable[[str, Touch], None]) -> None:
    """Runs a launch on the grid machine, which tells of each access, from memory as it is. Raises
    Dependent."""
    function, chosen = prepared(launch)
    with _told(launch, function, chosen, _PROOF, hear) as machine:
        if any(s.readonly for s in machine.storages(chosen.written).values()):
            raise Dependent
        machine.run()


def run_before(launch: Launch, program: Program) -> None:
    """Runs the instances before one, in order. Raises Dependent."""
    function, chosen = prepared(launch)
    with _told(launch, function, chosen, UNJUDGED, None) as machine:
        machine.before = program
        machine.run()


@contextmanager
def _told(
    launch: Launch, function: Function, chosen: Plan, checks: Checks, hear: Any
) -> Iterator[GridMachine]:
    try:
        yield GridMachine(function, chosen, launch.grid, launch.arguments, checks, heard=hear)
    except (Suspicion, TritonError) as error:
        raise Dependent from error


class Touching:
    """A hook of the grid machine: how many accesses of each instance touch an element, and which
    instances write it."""

    def __init__(self, launch: Launch, target: Target) -> None:
        self.grid, self.target = launch.grid, target
        x, y, z = launch.grid
        self.counts = np.zeros(x * y * z, np.int32)
        self.writes = np.zeros(x * y * z, bool)
        self._lock = Lock()  # two workers may tell

    def __call__(self, kind: str, touch: Touch) -> None:
        target = self.target
        if touch.storage is not target.storage or 0 in touch.block:
            return
        low, high = touch.bounds()
        if low >= target.end or high <= target.address:
            return
        dense = touch.dense()
        hits = (dense < target.end) & (dense + touch.itemsize > target.address)
        if touch.mask is not None:
            hits = hits & touch.mask
        if not hits.any():
            return
        rank = len(touch.lead)
        hits = hits.any(axis=tuple(range(rank, hits.ndim)))
        ids = touch.programs(self.grid)[np.broadcast_to(hits, touch.lead)]
        with self._lock:
            self.counts[ids] += 1
            if kind != "read":
                self.writes[ids] = True

    def programs(self, seed: int, writes: bool) -> Any:
        """The linear ids of those that touch (or write) it, in order of execution."""
        found = np.flatnonzero(self.writes if writes else self.counts)
        if seed == 0 or not found.size:
            return found
        turns = np.empty(len(self.counts), np.int64)
        turns[program_order(len(turns), seed)] = np.arange(len(turns))
        return found[np.argsort(turns[found])]


def triple(grid: Program, linear: int) -> Program:
    """The instance of a linear id."""
    rest, x = divmod(linear, grid[0])
    z, y = divmod(rest, grid[1])
    return x, y, z


__all__ = ["Dependent", "Touching", "heard", "prepared", "run_before", "triple"]
