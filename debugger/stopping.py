"""Where a debugging session stops first: a kernel and a program instance of it.

The engine decides; the voice is whatever debugger is in force (pdb, unless the program brought
another one).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType

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
