"""Expressions of a person over the names of a kernel, with the language's own arithmetic.

Nothing is written: stores, atomics, assertions and prints are refused. Loads read memory as it is where
the session stands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep import target
from blockstep.debugger.moments import Frame
from blockstep.interp.scheduler import Program, Scheduler
from blockstep.interp.step import StepMachine
from blockstep.language import op as language_op
from blockstep.language.op import Op
from blockstep.runtime.ladder.launch import Launch

_REFUSED = ("store", "atomic", "print", "assert", "barrier", "assembly")


class Looker(StepMachine):
    """The step machine for expressions."""

    __slots__ = ()

    def emit(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """The value of one operation. Raises PermissionError for one that does something."""
        if any(word in op.name for word in _REFUSED):
            raise PermissionError(f"`{op.name}` would change what runs: expressions only look")
        return StepMachine.emit(self, op, operands, attributes)


def evaluate(text: str, frame: Frame, launch: Launch, program: Program) -> Any:
    """The value of an expression in a frame. Raises what it raises, SyntaxError for what is none."""
    code = compile(text.strip(), "<expression>", "eval")
    scheduler = Scheduler(launch.grid)
    scheduler.program = program
    machine = Looker(
        launch.kernel, launch.grid, launch.bound.space, scheduler, target.current(),
        int(launch.told["num_warps"]),
    )  # fmt: skip
    token = language_op.machine.set(machine)
    try:
        with np.errstate(all="ignore"):
            # One name space: the body of a comprehension sees no locals but its own.
            return eval(code, {**frame.globals, **frame.locals})  # a debugger's business
    finally:
        language_op.machine.reset(token)


__all__ = ["Looker", "evaluate"]
