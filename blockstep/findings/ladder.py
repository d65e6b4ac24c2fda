"""Events of the ladder: what a compiler made of a kernel, and its source, disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from blockstep.findings.model import Element, Severity, Span
from blockstep.findings.parts import Argument, Event


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One change that a pass made: lines of the IR before and after it."""

    number: int  # the how-manieth of the pass
    of: int  # how many the pass makes
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspect:
    """Who made the difference, as far as it was narrowed down.

    `stage` is a pass's name, "lowering" or "LLVM". `rewrite` is the one change of a pass after which
    the result is wrong. `without` is a pass without which the compiled code is right. `lines` are
    those of the compiled code that the operation became."""

    stage: str = ""
    rewrite: Rewrite | None = None
    without: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagrees(Event):
    """A rung leaves other values than the source; `span` is what made the first of them."""

    kind: ClassVar[str] = "compiler"
    rung: str
    argument: Argument
    element: Element
    wanted: str
    found: str
    count: int
    total: int
    made_by: str = ""  # the operation that made the value, where it is known
    rewritten: bool = False  # `span` is what the rewrite began with
    stored_at: Span | None = None  # where it is stored, if that is elsewhere
    limits: tuple[str, str] | None = None  # the derived bound
    said: tuple[str, ...] = ()  # what the machine objected to besides
    suspect: Suspect = Suspect()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledFault(Event):
    """What was compiled does what its source does not: reads a slot too early, races, leaves its
    arguments, traps. `fault` is as in findings, `what` the machine's words."""

    kind: ClassVar[str] = "compiler"
    rung: str
    fault: str
    what: str
    where: str = ""  # the line of compiled code
    suspect: Suspect = Suspect()


@dataclass(frozen=True, slots=True, kw_only=True)
class TouchesElsewhere(Event):
    """What was compiled reads or writes memory that its source does not."""

    kind: ClassVar[str] = "compiler"
    rung: str
    writes: bool
    argument: Argument | None
    elements: tuple[Element, ...]
    count: int  # of bytes
    where: str = ""
    suspect: Suspect = Suspect()


@dataclass(frozen=True, slots=True, kw_only=True)
class PassBroke(Event):
    """A pass ended in an error, or left IR that breaks a rule."""

    kind: ClassVar[str] = "compiler"
    name: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided(Event):
    """Elements that differ, and of which nobody can say whether they may."""

    kind: ClassVar[str] = "compiler"
    rung: str
    count: int
    why: str = ""

    @property
    def severity(self) -> Severity | None:
        """A doubt."""
        return Severity.WARNING


__all__ = [
    "CompiledFault", "Disagrees", "PassBroke", "Rewrite", "Suspect", "TouchesElsewhere", "Undecided",
]  # fmt: skip
