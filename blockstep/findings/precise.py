"""What is raised where an output is further from float64 than was allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from blockstep.findings.model import Element, Severity
from blockstep.findings.parts import Argument, Event

LossHow = Literal["rounding", "inputs", "cancellation", "overflow", "nan", "underflow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionLost(Event):
    """Elements of an output pass a bound on their error. The place is the first operation whose own
    error passes it (in units of the output's type), with its worst element."""

    kind: ClassVar[str] = "precision"
    bound: str  # as it was asked for: "error:4ulp"
    how: LossHow
    op: str  # as machines call it
    type_text: str  # of what the operation makes
    value: float
    shadow: float
    operands: tuple[float, ...]
    element: Element  # its position in the block
    ulps: float  # of that element, in units of its own type
    introduced: float  # of the error of the operation's results, the most that it made itself
    rounded: str = ""  # "tf32": how a product rounds its operands
    argument: Argument | None = None
    elements: tuple[Element, ...] = ()  # of the output, the first few
    count: int = 0
    total: int = 0
    output_type: str = ""
    output_ulps: float = 0.0  # of the output's worst element: these four
    output_value: float = 0.0
    output_shadow: float = 0.0
    output_element: Element = ()

    @property
    def severity(self) -> Severity | None:
        """Somebody set the bound: past it is an error."""
        return Severity.ERROR


__all__ = ["LossHow", "PrecisionLost"]
