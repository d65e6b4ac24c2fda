"""The step machine for checkers that follow values: it shows them each operation and each branch.

Invariant: what an operation gives is what the step machine gives; a checker may only put facets
beside it. A launch that no such checker judges runs on the plain machine and pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from blockstep.interp.events import hooks
from blockstep.interp.step import StepMachine
from blockstep.language.frames import user_site
from blockstep.language.op import Op


@dataclass(slots=True, eq=False)
class FollowedMachine(StepMachine):
    """Evaluates as `StepMachine` does, and lets checkers see every value."""

    followers: tuple[Callable[..., Any], ...] | None = None  # None: not yet known

    def emit(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """The value of one operation, with the facets of the checkers that follow it."""
        result = StepMachine.emit(self, op, operands, attributes)  # slots: no bare `super()`
        if self.followers is None:
            self.followers = hooks(self.checkers, "value")
        for follow in self.followers:
            result = follow(self.scheduler.program, op, operands, attributes, result)
        return result

    def truth(self, x: Any, kind: str) -> bool:
        """The value of a scalar condition."""
        answer = StepMachine.truth(self, x, kind)
        for hear in hooks(self.checkers, "branch"):
            hear(self.scheduler.program, x, user_site())
        return answer
