"""What a finding is: places, kinds, severities, the two parties of a race.

Invariant: frozen data without prose of its own; the words come from `blockstep.diagnostics`.
Columns are counted in characters from 1; 0 says that the column is unknown.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Program = tuple[int, int, int]
Element = tuple[int, ...]

MOST_ELEMENTS = 16  # a finding names at most this many elements, and counts the rest


class Severity(StrEnum):
    """How bad a finding is: a bug, a doubt, or something good to know."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """2 for an error, 1 for a warning, 0 for a note: compare these, not the texts."""
        return _RANK[self]


_RANK = {Severity.NOTE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of finding: its name, its checker, its usual severity, a title of a few words."""

    name: str
    checker: str
    severity: Severity
    title: str
    usual: bool = True  # judged unless it is skipped; else only where it is asked for by name


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "out-of-bounds",
            "bounds",
            Severity.ERROR,
            "an access outside the argument that was passed",
        ),
        Kind(
            "alignment",
            "bounds",
            Severity.ERROR,
            "an access that does not start at a multiple of its size",
        ),
        Kind(
            "race",
            "race",
            Severity.ERROR,
            "two program instances touch an element and nothing orders them",
        ),
        Kind(
            "overlap",
            "overlap",
            Severity.ERROR,
            "one program instance stores to an element twice, or reads it back",
        ),
        Kind(
            "uninitialised",
            "uninit",
            Severity.ERROR,
            "a value that nothing has written decides something",
        ),
        Kind(
            "overflow",
            "overflow",
            Severity.ERROR,
            "a wrapped integer reaches an address, a mask or a bound",
        ),
        Kind("division", "arithmetic", Severity.ERROR, "an integer division by zero"),
        Kind(
            "cast",
            "arithmetic",
            Severity.WARNING,
            "a conversion to an integer that cannot hold the value",
        ),
        Kind("grid", "grid", Severity.ERROR, "a grid that does not fit the device or the outputs"),
        Kind("hint", "hint", Severity.ERROR, "a promise to the compiler that is false"),
        Kind(
            "order",
            "order",
            Severity.WARNING,
            "a result that depends on the order of program instances",
        ),
        Kind("deadlock", "order", Severity.ERROR, "program instances that wait for ever"),
        Kind("assert", "assertion", Severity.ERROR, "a device_assert that failed"),
        Kind(
            "precision",
            "precision",
            Severity.WARNING,
            "NaN reaches memory or decides something",
            usual=False,
        ),
        Kind("compile", "compile", Severity.ERROR, "a kernel that the language does not allow"),
        Kind("unsupported", "unsupported", Severity.ERROR, "a limit of blockstep"),
        Kind("internal", "internal", Severity.ERROR, "a bug in blockstep"),
        Kind("barrier", "ptx", Severity.ERROR, "a barrier that not every thread reaches"),
        Kind(
            "async",
            "ptx",
            Severity.ERROR,
            "shared memory used while an asynchronous copy is under way",
        ),
        Kind(
            "compiler", "ladder", Severity.ERROR, "a compiled kernel that disagrees with its source"
        ),
    )
}
CHECKERS: tuple[str, ...] = tuple(dict.fromkeys(kind.checker for kind in KINDS.values()))
OURS = frozenset({"unsupported", "internal"})  # a limit or a bug of ours: no verdict on the kernel


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source text, counted from 1; `end_column` is one past the last character."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""


@dataclass(frozen=True, slots=True)
class Party:
    """Another place in a finding: the first access of a race, the load without a fill value."""

    label: str
    span: Span
    program: Program | None = None
    argument: str | None = None
    elements: tuple[Element, ...] = ()
    count: int = 0


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, in words, with everything a reader needs to judge it."""

    kind: str
    severity: Severity
    message: str  # the title, without `error[kind]: `
    span: Span
    label: str = ""  # the text after the carets
    kernel: str = ""
    program: Program | None = None
    grid: Program | None = None
    argument: str | None = None
    elements: tuple[Element, ...] = ()
    count: int = 0  # of elements, of which `elements` names the first
    facts: tuple[str, ...] = ()  # the `= ...` lines
    help: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    related: tuple[Party, ...] = ()
    host: Span | None = None  # the line of the launch
    passed_at: Span | None = None  # where the argument was passed; the launch, if not known better
    launch: int | None = None  # number of the launch in this process, from 1
    callers: tuple[
        Span, ...
    ] = ()  # calls that led to `span`, innermost first, when it is in a device function
    occurrences: int = 1
    programs: int = 1  # distinct program instances in which it was seen
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def checker(self) -> str:
        """The checker that raised it."""
        return KINDS[self.kind].checker

    @property
    def key(self) -> Hashable:
        """Findings with the same key are one finding seen again."""
        return (self.kind, self.span, self.argument, self.details.get("event"))

    def _repr_html_(self) -> str:
        from blockstep.page.notebook import of_finding

        return of_finding(self)

    def __str__(self) -> str:
        """The diagnostic, as the command line shows it."""
        from blockstep import diagnostics

        return diagnostics.render(self)


def names(chosen: frozenset[str] | None, kind: str) -> bool:
    """Whether a set of checkers and kinds names this kind; None names all that are usual."""
    if chosen is None:
        return KINDS[kind].usual
    return kind in chosen or KINDS[kind].checker in chosen


def unknown_names(chosen: frozenset[str]) -> list[str]:
    """Those that are neither a checker nor a kind, in order, for the error message."""
    return sorted(chosen - set(KINDS) - set(CHECKERS))
