"""Another compiler's rung: the PTX of the Triton that is installed, on the ptx machine.

Triton contracts, approximates and flushes, so the rule is that of fast code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from blockstep.interp.ptx.faults import Place
from blockstep.runtime.foreign import Triton
from blockstep.runtime.gpu.binary import Binary
from blockstep.runtime.ladder.launch import Launch
from blockstep.runtime.ladder.machines import place_in, run_compiled
from blockstep.runtime.ladder.rung import Ran, Rule


@dataclass(slots=True, eq=False)
class TritonPtx:
    """The PTX that a Triton makes of a launch, under `told`, or the launch's own options."""

    triton: Triton
    name: str = "triton"
    told: Mapping[str, Any] | None = None
    rule: Rule = Rule.FAST
    _made: Binary | None = field(default=None, init=False)

    def run(self, launch: Launch) -> Ran:
        """Raises NotRun for what Triton refuses, Broken for a trap."""
        return run_compiled(lambda: self._binary(launch), launch)

    def place_of(self, launch: Launch, address: int, writes: bool) -> Place | None:
        """The first line of Triton's code that reads, or writes, a byte. Memory is put back."""
        return place_in(self._binary(launch), launch, address, writes)

    def _binary(self, launch: Launch) -> Binary:
        if self._made is None:
            told = launch.told if self.told is None else self.told
            self._made = self.triton.compile(launch.function, launch.bound, told)
        return self._made


__all__ = ["TritonPtx"]
