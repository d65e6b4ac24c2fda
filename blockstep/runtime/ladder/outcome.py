"""What became of each rung, and of the climb: data without words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from blockstep.findings import Finding, Severity
from blockstep.runtime.ladder.rung import Fault
from blockstep.runtime.ladder.touched import Beyond

BEFORE = ("step", "grid", "passes")  # rungs before there is compiled code


class Status(Enum):
    """How a rung compares with the first one."""

    EQUAL = "equal"
    SAME = "same IR"  # as the rung before, which was run
    WITHIN = "within the bound"
    ORDERED = "equal but for order"  # as a set or a sum, where the order of instances decides
    UNDECIDED = "undecided"
    UNJUDGED = "not judged"
    DIFFERS = "differs"
    NOT_RUN = "not run"

    @property
    def passed(self) -> bool:
        """Whether the rung agrees with the first one."""
        return self in (Status.EQUAL, Status.SAME, Status.WITHIN, Status.ORDERED)


@dataclass(frozen=True, slots=True, eq=False)
class Mismatch:
    """The first element that differs, and how many do. `low` and `high` are the derived limits,
    where there are any. `address` is the element's."""

    argument: str
    type_text: str
    element: tuple[int, ...]
    wanted: Any
    found: Any
    count: int
    total: int
    address: int
    itemsize: int
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One rung. `text` is the reason or the rule, as the end of a line; `counts` are of elements
    that are not equal: within, undecided, ordered."""

    rung: str
    status: Status
    text: str = ""
    ulps: float = 0.0
    within: int = 0
    undecided: int = 0
    ordered: int = 0
    mismatch: Mismatch | None = None
    faults: Sequence[Fault] = ()  # what the machine objected to
    beyond: Sequence[Beyond] = ()  # memory that the source does not touch
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Climb:
    """One launch on all rungs. `findings` are of the kind `compiler`: the first difference, memory
    that the source never touches, elements that are undecided."""

    kernel: str
    grid: tuple[int, int, int]
    outcomes: Sequence[Outcome]
    findings: Sequence[Finding] = ()
    number: int | None = None
    seconds: float = 0.0

    @property
    def first_wrong(self) -> Outcome | None:
        """The first rung that differs."""
        return next((o for o in self.outcomes if o.status is Status.DIFFERS), None)

    @property
    def finding(self) -> Finding | None:
        """The first error, if there is one."""
        return next((f for f in self.findings if f.severity is Severity.ERROR), None)

    @property
    def disagrees(self) -> bool:
        """Whether any rung differs, or touches what the source does not."""
        return self.finding is not None

    @property
    def compared(self) -> bool:
        """Whether something that was compiled was compared, whatever came of it."""
        ran = (Status.NOT_RUN, Status.UNJUDGED)
        return any(
            o.rung not in BEFORE and not o.rung.startswith("after ") and o.status not in ran
            for o in self.outcomes
        )

    @property
    def passed(self) -> bool:
        """Whether every rung that there is ran and agrees: nothing undecided, nothing left out but
        the device where there is none."""
        return not self.disagrees and all(
            o.status.passed or (o.rung == "gpu" and o.status is Status.NOT_RUN)
            for o in self.outcomes
        )

    def outcome(self, rung: str) -> Outcome:
        """The outcome of a rung by its name. Raises KeyError."""
        for one in self.outcomes:
            if one.rung == rung:
                return one
        raise KeyError(rung)

    def _repr_html_(self) -> str:
        from blockstep.page.notebook import of_climb

        return of_climb(self)

    def __str__(self) -> str:
        """The lines that the command line shows."""
        from blockstep.runtime.ladder.telling import text_of

        return text_of(self)


__all__ = ["Climb", "Mismatch", "Outcome", "Status"]
