"""Where a session can stand: `Moment`, one line of one program instance that is about to run, and
`Stop`, the moment where a session stands and why.

Blocks are immutable, so a moment keeps the locals themselves. A call's `Record` is shared by all
moments of what it calls: while the inner function runs, nothing changes in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import CodeType
from typing import Any

from blockstep.findings import Finding
from blockstep.options import Program


class Reason(Enum):
    """Why a session stands where it does."""

    LINE = "line"  # where a step led
    BREAKPOINT = "breakpoint"
    WATCH = "watch"  # an element that is watched was written
    FINDING = "finding"  # of a checker
    BORN = "born"  # the first NaN or infinity
    ERROR = "error"  # an operation's error passes its bound
    EXCEPTION = "exception"
    INTERRUPT = "interrupt"
    INSTANCE_END = "instance end"  # the function of the kernel returns
    BEGIN = "begin"  # nothing is recorded before
    END = "end"  # of the launch


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One call at one line: `locals` before the line runs. `depth` counts calls, the kernel's own
    is 0."""

    parent: Record | None
    code: CodeType
    line: int
    locals: Mapping[str, Any]
    globals: Mapping[str, Any]
    depth: int


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A line about to run, or (`ends`) the return of the kernel's function.

    `number` counts the moments of a run, `lines` those of them that are no event within a line;
    `written` is how many writes of memory came before."""

    number: int
    lines: int
    program: Program
    top: Record
    written: int
    ends: bool = False
    enters: bool = False  # the first line of its call
    reason: Reason | None = None  # what made it, if that was no line
    detail: Any = None

    @property
    def within_line(self) -> bool:
        """Whether it stands in the middle of a line, which has a moment of its own."""
        return self.reason in WITHIN_LINE


WITHIN_LINE = frozenset({Reason.FINDING, Reason.BORN, Reason.ERROR, Reason.EXCEPTION})


@dataclass(frozen=True, slots=True)
class Frame:
    """One call as a person looks at it."""

    function: str
    file: str
    line: int
    locals: Mapping[str, Any]
    globals: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Written:
    """A watched element and what was written to it; `line` and `file` say where."""

    argument: str
    index: tuple[int, ...]
    old: Any
    new: Any
    program: Program
    file: str
    line: int


@dataclass(frozen=True, slots=True, eq=False)
class Stop:
    """Where a session stands. `frames` has the innermost call last, and none at the end of the
    launch. `position` is (moment, moments so far); `past` says that later ones are recorded.

    `detail` is a `Breakpoint`, a `Written`, a `Finding`, a `Born`, a `Strayed`, an exception, or None,
    by `reason`."""

    reason: Reason
    program: Program | None
    frames: tuple[Frame, ...]
    detail: Any = None
    position: tuple[int, int] = (0, 0)
    past: bool = False

    @property
    def finding(self) -> Finding | None:
        """The finding that it is about."""
        return self.detail if isinstance(self.detail, Finding) else None


@dataclass(frozen=True, slots=True)
class Born:
    """The first NaN or infinity of a program instance: `kind` is "nan" or "inf", `element` where in
    the block that `op` made."""

    kind: str
    op: str
    program: Program
    element: tuple[int, ...]
    value: float
    operands: tuple[Any, ...]  # the elements that it was made of, of elementwise operations
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Strayed:
    """An operation whose result is further off than wanted, of operands that are not: by how many
    units in the last place, at which element, and what it would be without rounding (`shadow`)."""

    op: str
    program: Program
    element: tuple[int, ...]
    ulps: float
    value: float
    shadow: float
    file: str
    line: int


def frames_of(top: Record | None) -> tuple[Frame, ...]:
    """The calls of a moment, innermost last."""
    found: list[Frame] = []
    while top is not None:
        code = top.code
        found.append(Frame(code.co_name, code.co_filename, top.line, top.locals, top.globals))
        top = top.parent
    return tuple(reversed(found))


__all__ = [
    "WITHIN_LINE",
    "Born",
    "Frame",
    "Moment",
    "Reason",
    "Record",
    "Stop",
    "Strayed",
    "Written",
    "frames_of",
]
