"""Where a debugging session stops first: a kernel and a program instance of it.

The engine decides; the voice is whatever debugger is in force (pdb, unless the program brought
another one).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType

from blockstep.interp import breakpoints
from blockstep.options import Program


@dataclass(slots=True)
class Stop:
    """Stops at the first line of `program` of `kernel`, once. None stands for the first one."""

    kernel: str | None
    program: Program | None
    done: bool = False
    passed: dict[str, Program] = field(default_factory=dict)  # the largest instance of each kernel

    def __call__(self, kernel: str, code: CodeType, program: Program) -> None:
        """Asked before each program instance runs."""
        if self.done:
            return
        self.passed[kernel] = max(program, self.passed.get(kernel, program))
        if self.kernel in (None, kernel) and self.program in (None, program):
            self.done = True
            breakpoints.stop_at_first_line(code)

    def missed(self) -> str:
        """Why it did not stop anywhere."""
        if not self.passed:
            return "nothing to stop in: no kernel was launched"
        if self.kernel is not None and self.kernel not in self.passed:
            ran = ", ".join(self.passed)
            return f"nothing to stop in: kernel {self.kernel} was not launched; {ran} was"
        last = "; ".join(
            f"the last of {kernel} is {program}"
            for kernel, program in self.passed.items()
            if self.kernel in (None, kernel)
        )
        return f"nothing to stop in: no program instance {self.program} ran; {last}"
