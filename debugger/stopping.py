"""Where a debugging session stops first: a kernel and a program instance of it.

The engine decides; the voice is whatever debugger is in force (pdb, unless the program brought
another one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType

from blockstep.findings.report import LaunchRecord
from blockstep.interp import breakpoints
from blockstep.options import Program


@dataclass(slots=True)
class Stop:
    """Stops at the first line of `program` of `kernel`, once. None stands for the first one."""

    kernel: str | None
    program: Program | None
    done: bool = False

    def __call__(self, kernel: str, code: CodeType, program: Program) -> None:
        """Asked before each program instance runs."""
        if self.done or self.kernel not in (None, kernel):
            return
        if self.program in (None, program):
            self.done = True
            breakpoints.stop_at_first_line(code)

    def missed(self, launches: Sequence[LaunchRecord]) -> str:
        """Why it did not stop, from what was launched."""
        names = ", ".join(dict.fromkeys(launch.kernel for launch in launches))
        fitting = [launch for launch in launches if self.kernel in (None, launch.kernel)]
        if not launches:
            return "nothing to stop in: no kernel was launched"
        if not fitting:
            return f"nothing to stop in: no kernel {self.kernel} was launched, only {names}"
        grids = ", ".join(str(g) for g in dict.fromkeys(launch.grid for launch in fitting))
        return f"nothing to stop in: program instance {self.program} never ran; the grid is {grids}"
