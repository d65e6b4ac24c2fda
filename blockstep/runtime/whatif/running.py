"""Runs a launch again with some roundings switched off, and gives what it leaves in float64.

The grid machine runs it, unjudged, or with a `share` below 1 some of its program instances. The
caller's memory is put back after each run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from blockstep.errors import TritonError
from blockstep.interp.grid.arena import arena
from blockstep.interp.grid.asynchronous import Hazard
from blockstep.interp.grid.checks import UNJUDGED
from blockstep.interp.grid.machine import GridMachine
from blockstep.interp.grid.memory import Suspicion
from blockstep.interp.grid.plan import Refused, plan
from blockstep.interp.shadows.grid import spread
from blockstep.ir import Function
from blockstep.language import types as ty
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.machines import error_text, without_prints
from blockstep.runtime.whatif.memory import sharing, values_of, wide
from blockstep.runtime.whatif.rewriting import widened
from blockstep.runtime.whatif.widening import NotWidened, Widening, promoted, wider

Values = Mapping[str, Any]
"""What array arguments hold after a run, by name, as float64."""


@dataclass(slots=True, eq=False)
class Repeated:
    """One launch to be run again and again: `function` is its IR, `outputs` the float arrays that it
    may write, with their formats. Raises NotWidened for a launch that the grid machine refuses."""

    launch: Launch
    share: float = 1.0  # of the program instances: the first ones and the last run
    function: Function = field(init=False)
    outputs: dict[str, ty.dtype] = field(init=False)

    def __post_init__(self) -> None:
        try:
            self.function = without_prints(self.launch.made)
            chosen = plan(self.function)
        except Refused as refused:
            raise NotWidened(str(refused)) from refused
        except TritonError as error:
            raise NotWidened(error_text(error)) from error
        if chosen.written is None:
            raise NotWidened("it writes through addresses that were computed or read from memory")
        self.outputs = sharing(self.launch.arguments, chosen.written)

    def as_written(self) -> Values:
        """What the launch itself leaves."""
        return self._run(self.function, self.launch.arguments)

    def in_double(self) -> Values:
        """What the launch leaves when all floats are float64."""
        return self.widened(self.at_least(ty.float64))

    def at_least(self, kind: ty.dtype) -> Widening:
        """All floats, and the memory of all outputs, in a format or a wider one."""
        kinds = {n: promoted([k, kind]) for n, k in self.outputs.items()}
        return Widening(memory=kinds, least=kind)

    def widened(self, how: Widening) -> Values:
        """What it leaves with some roundings switched off. Raises NotWidened."""
        arguments = wide(self.launch.arguments, how.memory).arguments
        return self._run(widened(self.function, how), arguments)

    def with_memory(self, how: Widening, *names: str) -> Widening:
        """The same, and the memory of arrays (and what shares it) one format wider."""
        arguments = self.launch.arguments
        storages = {id(arguments[n].storage) for n in names}
        kinds = {
            n: wider(k) for n, k in self.outputs.items() if id(arguments[n].storage) in storages
        }
        return replace(how, memory={**how.memory, **kinds})

    def _run(self, function: Function, arguments: dict[str, Any]) -> Values:
        launch = self.launch
        try:
            machine = GridMachine(function, plan(function), launch.grid, arguments, UNJUDGED)
            self._execute(machine)
            return {name: values_of(arguments[name]) for name in self.outputs}
        except Refused as refused:
            raise NotWidened(str(refused)) from refused
        except (Suspicion, Hazard, TritonError) as error:
            raise NotWidened("it touches other memory then, or fails") from error
        finally:
            launch.memory.restore()

    def _execute(self, machine: GridMachine) -> None:
        if self.share >= 1:
            machine.run()
            return
        boxes = list(spread(self.launch.grid, self.share, machine._programs_a_batch()))
        with arena():
            machine._run(boxes)

    def before(self) -> Values:
        """What the outputs hold before the launch."""
        return {name: values_of(self.launch.arguments[name]) for name in self.outputs}


__all__ = ["Repeated", "Values"]
