"""What a launch with shadows tells: numbers by source line, and by output. Data without words.

*ulps* are units in the last place of the value's own type at the shadow. *Introduced* is what the
operation itself was off by, on the operands that it had; the rest of the error it was given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.findings import Span
from blockstep.options import Program


@dataclass(frozen=True, slots=True)
class Example:
    """One element: where, what stands there, what should, and the operands that it was made of."""

    program: Program
    element: tuple[int, ...]
    value: float
    shadow: float
    operands: tuple[float, ...] = ()


@dataclass(slots=True)
class LineRecord:
    """All that one operation of the source did, over all turns and measured program instances."""

    span: Span
    callers: tuple[Span, ...]
    op: str
    type: str  # of the elements
    order: int = 0  # of the operations, as they were first executed
    elements: int = 0  # that were compared
    worst_ulps: float = 0.0
    sum_ulps: float = 0.0
    introduced_ulps: float = 0.0  # the worst
    squares: float = 0.0  # of the shadows
    error_squares: float = 0.0  # of the error
    introduced_squares: float = 0.0  # of what was introduced
    worst: Example | None = None
    cancelled: int = (
        0  # elements of which a sum of opposite signs left less than half of the right bits
    )
    cancelled_bits: float = 0.0  # the most bits lost
    cancellation: Example | None = None
    overflowed: int = 0  # infinite, and the shadow is a number
    overflow: Example | None = None
    underflowed: int = 0  # zero, and the shadow is not
    underflow: Example | None = None
    vanished: int = 0  # zero, and the shadow is not too small for the type
    vanishing: Example | None = None
    saturated: int = 0  # finite, and the shadow is past the largest number of the type
    saturation: Example | None = None
    subnormal: int = 0  # too small for all bits of the type
    nan_born: int = 0  # NaN of operands that are none
    nan: Example | None = None
    inf_born: int = 0  # infinite of finite operands, and not past the largest number of the type
    inf: Example | None = None
    decided: int = 0  # comparisons and choices that the shadow would decide otherwise
    decision: Example | None = None
    rounded_inputs: str = ""  # how a product rounds its operands first: "tf32", "fp8"

    @property
    def mean_ulps(self) -> float:
        """Over the elements that were compared."""
        return self.sum_ulps / self.elements if self.elements else 0.0

    @property
    def relative(self) -> float:
        """The root mean square of the error over that of the shadow."""
        return (self.error_squares / self.squares) ** 0.5 if self.squares else 0.0

    @property
    def introduced(self) -> float:
        """The same of what the operation itself was off by."""
        return (self.introduced_squares / self.squares) ** 0.5 if self.squares else 0.0

    @property
    def quiet(self) -> bool:
        """Whether there is nothing to tell."""
        counts = (self.cancelled, self.overflowed, self.underflowed, self.vanished, self.saturated,
                  self.subnormal, self.nan_born, self.inf_born, self.decided)  # fmt: skip
        return not self.worst_ulps and not any(counts)


@dataclass(slots=True, eq=False)
class OutputRecord:
    """The elements of an argument that measured program instances wrote: where (`chosen`, flat indices
    into `shape`; None: all of them), their values, their shadows, and how far these are apart."""

    name: str
    type: str
    chosen: Any
    values: Any
    shadow: Any
    shape: tuple[int, ...]
    worst_ulps: float = 0.0
    mean_ulps: float = 0.0
    relative: float = 0.0  # the root mean square of the error over that of the shadow
    index: tuple[int, ...] = ()  # of the worst element
    nan: int = 0
    infinite: int = 0

    @property
    def at(self) -> Any:
        """Flat indices of the elements."""
        return np.arange(len(self.shadow)) if self.chosen is None else self.chosen

    @property
    def elements(self) -> int:
        """How many were measured."""
        return len(self.shadow)


@dataclass(slots=True, eq=False)
class ShadowResult:
    """`lines` in the order of the source. `measured` of `programs` instances carried shadows."""

    kernel: str
    lines: tuple[LineRecord, ...]
    outputs: dict[str, OutputRecord]
    programs: int
    measured: int
    machine: str = "grid"
    because: str = ""  # why not the grid machine
    notes: list[str] = field(default_factory=list)

    @property
    def worst(self) -> list[LineRecord]:
        """The lines that introduce most, first."""
        return sorted(self.lines, key=lambda r: -r.introduced)


__all__ = ["Example", "LineRecord", "OutputRecord", "ShadowResult"]
