"""What checkers raise: frozen data, one class per way to go wrong.

`blockstep.diagnostics.describe` finds the words. Invariant: no field holds prose (but for what the
user or the language rules wrote), an address or a clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from blockstep.findings.model import Element, Program, Severity, Span
from blockstep.findings.parts import Argument, Birth, Event, Lanes, Touch


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfBounds(Event):
    """An access outside the argument its pointer came from."""

    kind: ClassVar[str] = "out-of-bounds"
    op: str
    where: Literal[
        "end", "start", "gap", "null", "unknown", "read-only"
    ]  # gap: between the rows of a strided view
    lanes: Lanes
    argument: Argument | None = None
    offsets: tuple[int, int] | None = None  # least and greatest of the active lanes, in elements
    first: int | None = None  # offset of the first element outside, in elements
    masked: bool = False  # a mask was given
    explained_by: Argument | str | None = None  # who leads there: an argument, a stride's name
    scalars: Mapping[str, int] = field(default_factory=dict)  # integers passed, for the help
    elements: tuple[Element, ...] = ()

    @property
    def severity(self) -> Severity | None:
        """A doubt when another argument explains the access."""
        return Severity.WARNING if self.explained_by else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Misaligned(Event):
    """An access whose start is no multiple of what its type needs."""

    kind: ClassVar[str] = "alignment"
    op: str
    needed: int  # bytes
    lanes: Lanes
    argument: Argument | None = None
    offset: int | None = None  # bytes from the start of the argument, of the first one
    remainder: int = 0  # what is left when the start is divided by `needed`


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceFound(Event):
    """Two program instances touch the same bytes, one writes, and nothing orders them."""

    kind: ClassVar[str] = "race"
    argument: Argument | None
    first: Touch
    second: Touch  # its span is the event's span
    same_value: bool = False  # both wrote the same bytes
    # mixed: an atomic and a plain access; barrier: a release that covers only one lane's accesses
    why: Literal["plain", "relaxed", "scope", "mixed", "barrier"] = "plain"
    seed: int | None = None
    backwards: bool = False  # told in the order of the source: `second` happened first

    @property
    def race_class(self) -> str:
        """write after write, read after write or write after read (an atomic counts as a write)."""
        first = "read" if self.first.word == "read" else "write"
        second = "read" if self.second.word == "read" else "write"
        return f"{first} after {second}" if self.backwards else f"{second} after {first}"

    @property
    def severity(self) -> Severity | None:
        """A doubt when the same bytes were written."""
        return Severity.WARNING if self.same_value else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LanesDisagree(Event):
    """Two lanes of one store write different values to one element."""

    kind: ClassVar[str] = "overlap"
    op: str
    argument: Argument | None
    element: Element
    lanes: tuple[Element, Element]
    values: tuple[str, str]
    count: int = 1  # elements written by more than one lane


@dataclass(frozen=True, slots=True, kw_only=True)
class StoresOverlap(Event):
    """Two stores of one program instance write different values to one element."""

    kind: ClassVar[str] = "overlap"
    argument: Argument | None
    first: Touch
    second: Touch


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBack(Event):
    """One program instance loads what it stored, with other addresses and no barrier."""

    kind: ClassVar[str] = "overlap"
    argument: Argument | None
    first: Touch  # the store (or the load that is stored over)
    second: Touch

    @property
    def severity(self) -> Severity | None:
        """Always a doubt: blockstep orders it, Triton may not."""
        return Severity.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadUnwritten(Event):
    """A load of bytes that nothing has written."""

    kind: ClassVar[str] = "uninitialised"
    op: str
    argument: Argument | None
    lanes: Lanes
    unwritten: int  # bytes
    drawing: tuple[
        int | None, ...
    ] = ()  # bytes around the first one, None where nothing was written
    drawing_offset: int = 0  # of the first byte drawn, in bytes from the start of the argument
    elements: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NaNReached(Event):
    """NaN is stored, goes into an atomic, or is itself the condition of a branch."""

    kind: ClassVar[str] = "precision"
    sink: Literal["store", "atomic", "branch"]
    op: str
    lanes: Lanes
    birth: Birth  # of the first of them
    argument: Argument | None = None
    elements: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadsTf32(Event):
    """A matrix product rounds float32 operands to tf32, which nobody asked for."""

    kind: ClassVar[str] = "precision"
    operand: int  # the first one that loses bits
    lanes: Lanes  # of its elements, those that do
    value: str  # the first of them
    read_as: str


MarkCause = Literal["masked-load", "unwritten", "division", "shift", "wrap", "cast", "nan"]
Sink = Literal[
    "store", "atomic", "branch", "address", "mask", "loop-bound", "assert", "dot", "print"
]
_MARK_KIND: dict[str, str] = {
    "masked-load": "uninitialised",
    "unwritten": "uninitialised",
    "division": "division",
    "cast": "cast",
    "nan": "precision",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a value stopped being trustworthy."""

    cause: MarkCause
    span: Span
    program: Program | None = None
    op: str = ""  # "*", "//", "<<", ">="; of casts "narrow" (an integer), "convert"
    type_text: str = ""  # int32: the type whose range was left
    operands: tuple[str, ...] = ()  # values of the first lane, as a reader would write them
    exact: str = ""  # what the result would be without a width
    result: str = ""  # what it is
    argument: str | None = None  # of a masked load
    birth: Birth | None = None  # of the NaN that was compared


@dataclass(frozen=True, slots=True, kw_only=True)
class UndefinedReached(Event):
    """A marked value (undefined, wrapped, the answer to a comparison with NaN) decides something at
    `span`."""

    kind: ClassVar[str] = "uninitialised"
    mark: Mark
    sink: Sink
    lanes: Lanes
    op: str = ""  # of the sink: "store", "load", "if", "while", "range"
    argument: Argument | None = None
    elements: tuple[Element, ...] = ()

    @property
    def kind_name(self) -> str:
        """Decided by the cause: a wrapped value is an overflow, a quotient by zero a division."""
        return _MARK_KIND.get(self.mark.cause, "overflow")


@dataclass(frozen=True, slots=True, kw_only=True)
class DividedByZero(Event):
    """An integer division or remainder by zero."""

    kind: ClassVar[str] = "division"
    op: str  # "//", "%"
    lanes: Lanes
    type_text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftTooFar(Event):
    """A shift by at least as many bits as the type has."""

    kind: ClassVar[str] = "overflow"
    op: str  # "<<", ">>"
    lanes: Lanes
    type_text: str
    amount: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CastLoses(Event):
    """An integer narrowed to a type that cannot hold it, or a float out of the integer's range."""

    kind: ClassVar[str] = "cast"
    source: str  # type texts
    target: str
    value: str
    result: str
    lanes: Lanes


@dataclass(frozen=True, slots=True, kw_only=True)
class GridLimit(Event):
    """A grid dimension past what the device allows; `span` is the launch."""

    kind: ClassVar[str] = "grid"
    axis: int  # -1: the product of all three
    size: int
    limit: int
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeverWritten(Event):
    """An output of which a launch left elements unwritten; `span` is the launch."""

    kind: ClassVar[str] = "grid"
    argument: Argument
    elements: tuple[Element, ...]
    count: int
    total: int
    stored_at: Span | None = None  # a store to it, if there is one

    @property
    def severity(self) -> Severity | None:
        """A doubt: somebody else may fill the rest."""
        return Severity.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleInstances(Event):
    """Program instances of which no lane touched memory; `span` is the launch."""

    kind: ClassVar[str] = "grid"
    count: int
    total: int
    examples: tuple[Program, ...] = ()

    @property
    def severity(self) -> Severity | None:
        """Only good to know."""
        return Severity.NOTE


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseHint(Event):
    """A `multiple_of`, `max_contiguous`, `max_constancy` or `assume` that does not hold."""

    kind: ClassVar[str] = "hint"
    hint: str  # "multiple_of"
    claimed: tuple[int, ...] = ()  # (16,)
    seen: tuple[str, ...] = ()  # values of the first lanes that break it
    lanes: Lanes | None = None
    axis: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderDependent(Event):
    """Outputs that differ between orders of program instances; `span` is the launch."""

    kind: ClassVar[str] = "order"
    outputs: tuple[Argument, ...]
    seeds: int  # tried
    differing: tuple[int, ...]  # seeds whose outputs are not those of the first
    element: Element = ()
    values: tuple[str, ...] = ()  # of that element of the first output: the first seed's, another's
    differs_by_rounding: bool = False

    @property
    def argument(self) -> Argument | None:
        """The first output that differs."""
        return self.outputs[0] if self.outputs else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunDiffers(Event):
    """A kernel that is tuned, and that gives another result when it is launched again."""

    kind: ClassVar[str] = "order"
    outputs: tuple[Argument, ...]
    configurations: int  # that a tuner would launch

    @property
    def argument(self) -> Argument | None:
        """The first argument that a second launch changes."""
        return self.outputs[0] if self.outputs else None


@dataclass(frozen=True, slots=True)
class Waiter:
    """A program instance that waits, and for what."""

    program: Program
    span: Span
    argument: str | None = None
    element: Element | None = None
    seen: str | None = None  # the value it keeps reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlock(Event):
    """Every program instance left waits; `span` is where the first one does."""

    kind: ClassVar[str] = "deadlock"
    waiters: tuple[Waiter, ...]
    waiting: int  # how many in all
    finished: int = 0
    not_started: int = 0
    steps: int | None = None  # turns each has had, where a limit decided


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertFailed(Event):
    """A `device_assert` whose condition is false."""

    kind: ClassVar[str] = "assert"
    message: str
    lanes: Lanes
    condition: str = ""  # its source text; read from `span` when empty
    values: Mapping[str, str] = field(default_factory=dict)  # of names in it, in the first lane


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileFault(Event):
    """A kernel that Triton's compiler rejects."""

    kind: ClassVar[str] = "compile"
    message: str
    label: str = ""
    facts: tuple[str, ...] = ()
    help: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedUse(Event):
    """Something the language allows and blockstep cannot run."""

    kind: ClassVar[str] = "unsupported"
    what: str
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalFault(Event):
    """Blockstep broke one of its own rules."""

    kind: ClassVar[str] = "internal"
    what: str
    where: str = ""  # file and line of ours
