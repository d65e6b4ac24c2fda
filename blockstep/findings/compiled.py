"""What compiled code did on the ptx machine: one event for every case."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from blockstep.findings.model import Severity, Span
from blockstep.findings.parts import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFault(Event):
    """A fault of the ptx machine; `span` is the kernel's line that the PTX is from."""

    kind: ClassVar[str] = "barrier"
    fault: str  # a kind of finding, or "trap"
    what: str  # which case of it: "shared memory", "register"
    line: int  # of the PTX
    text: str
    thread: int
    count: int = 1  # threads
    other: Span | None = None  # the other party of a race
    other_line: int = 0
    other_text: str = ""
    other_thread: int | None = None

    @property
    def kind_name(self) -> str:
        """The fault's own; a trap is an assertion that failed."""
        return "assert" if self.fault == "trap" else self.fault

    @property
    def severity(self) -> Severity | None:
        """A doubt for an array's memory: what was loaded may be thrown away."""
        doubt = self.fault == "uninitialised" and self.what == "global memory"
        return Severity.WARNING if doubt else None

    @property
    def key(self) -> Hashable:
        """Faults of one line of PTX are one finding."""
        return (self.kind_name, self.span, None, f"{self.what} at {self.line}")
