"""The step machine that writes down what chosen program instances do, operation after operation.

Invariant: what an operation gives is what the step machine gives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from blockstep.interp.blame.log import WriteLog
from blockstep.interp.blame.tape import Tape
from blockstep.interp.step import StepMachine
from blockstep.language.frames import call_sites
from blockstep.language.op import Op


@dataclass(slots=True, eq=False)
class RecordingMachine(StepMachine):
    """Evaluates as `StepMachine` does; `log` is one of its checkers and knows whom to record."""

    log: WriteLog = field(default_factory=WriteLog)

    def emit(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """The value of one operation; of a recorded instance, marked with where it comes from."""
        program = self.scheduler.program
        tape = self.log.recorded.get(program)
        result = StepMachine.emit(self, op, operands, attributes)  # slots: no bare `super()`
        if op.name == "store":
            self.log.settle()
        if tape is None:
            if op.name == "splat":  # instances share arguments, but not who repeated them
                operands[0].stretched = None
            return result
        captured = self.log.take(program)
        result = tape.add(op, operands, attributes, result, call_sites(), captured)
        if op.name == "splat":
            own = tape.known(operands[0]) is not operands[0]
            operands[0].stretched = result if own else None
        return result

    def turn(self, loop: Any, number: int | None, value: int | None) -> None:
        """A turn of a `for` begins, or (None) the loop is over."""
        tape = self._tape()
        if tape is not None:
            tape.turn(loop, number, value)

    def index(self, value: Any) -> None:
        """The variable of the innermost `for`, in the turn that begins."""
        tape = self._tape()
        if tape is not None:
            tape.input(value, tape.loops[-1][1])

    def truth(self, x: Any, kind: str) -> bool:
        """The value of a scalar condition."""
        answer = StepMachine.truth(self, x, kind)
        tape = self._tape()
        if tape is not None and kind == "while":
            loop = self.pending[-1]  # of this loop, from its first test to its last
            last = next((turn.number for known, turn in tape.loops if known is loop), -1)
            tape.turn(loop, last + 1 if answer else None, None)
        return answer

    def _tape(self) -> Tape | None:
        tape: Tape | None = self.log.recorded.get(self.scheduler.program)
        return tape


__all__ = ["RecordingMachine"]
