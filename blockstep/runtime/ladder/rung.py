"""What a rung is: one way to run a launch, and how strictly its result is compared.

A rung is an object with `name`, `rule` and `run(launch)`. It runs the launch on the memory that is
there, which is as it was before the launch, and leaves its results in it; the climb compares and
puts memory back. It says what it saw besides, as `Ran`. Where it cannot run at all it raises
`NotRun`; where what it runs breaks a rule that the source keeps (a slot read before it is filled, a
trap) it raises `Broken`.

`climb(launch, [TritonPtx(triton)])` adds one of another compiler (`ladder.triton`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from blockstep.findings import Span
from blockstep.runtime.ladder.launch import Launch


class Rule(Enum):
    """How the results of a rung are compared with those of the first one."""

    BITS = "bit for bit"
    EXACT = "the bound of IEEE arithmetic"  # sums in any order, library functions
    FAST = "the bound"  # contraction and approximate instructions as well


@dataclass(frozen=True, slots=True)
class Fault:
    """What a machine objected to while it ran: `kind` as in findings, and the kernel's line."""

    kind: str
    what: str
    span: Span | None = None
    detail: str = ""  # where in the compiled code

    @property
    def harmless(self) -> bool:
        """Whether it is none unless values differ: a compiler may move what is undefined, as long as
        nobody needs it."""
        return self.kind == "uninitialised" and "register" in self.what


@dataclass(frozen=True, slots=True)
class Ran:
    """What a rung saw: faults, and the bytes that it read and wrote, where it watched."""

    faults: Sequence[Fault] = ()
    touched: Any = None  # a Touched


class NotRun(Exception):
    """The rung cannot run this launch; the text says why, as the end of "not run: ..."."""


class Broken(Exception):
    """What the rung ran is wrong in itself, whatever it left in memory."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.what)
        self.fault = fault


class Rung(Protocol):
    """One way to run a launch."""

    @property
    def name(self) -> str: ...

    @property
    def rule(self) -> Rule: ...

    def run(self, launch: Launch) -> Ran:
        """Runs it on the memory that is there. Raises NotRun and Broken."""


__all__ = ["Broken", "Fault", "NotRun", "Ran", "Rule", "Rung"]
