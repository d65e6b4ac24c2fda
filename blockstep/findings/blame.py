"""Who touched an element of an argument, and where its value came from: data without words.

Invariant: values are NumPy scalars of the element's own type (addresses never appear), and what was
left out to keep an answer short is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from blockstep.findings.access import AccessKind
from blockstep.findings.model import Element, Program, Span

Role = Literal[
    "value",  # an operand of an elementwise operation, or the element that was moved or chosen
    "term",  # one of several that were combined
    "left",  # of a product that was added up; its "right" follows
    "right",
    "accumulator",
    "condition",  # decided which value was taken
    "index",  # decided which element was taken
    "stored",  # what a store or an atomic wrote
    "old",  # what an atomic found in memory
    "memory",  # what a load found in memory
]
Note = Literal[
    "",
    "host",  # as the host passed it: this launch had not written it
    "masked",  # the load's mask was off: the fill value
    "undefined",  # the load's mask was off, and there is no fill value
    "skipped",  # an access that was not executed: it lies outside of its argument
    "born",  # a NaN or an infinity made of numbers
    "more",  # followed no further
]


@dataclass(frozen=True, slots=True)
class Place:
    """One element of an argument."""

    argument: str
    index: Element


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a loop around an operation: its number from 0, and the loop's variable if there is
    one."""

    number: int
    value: int | None = None


@dataclass(frozen=True, slots=True)
class ElementAccess:
    """One access to an element: `lanes` are positions in the block that was loaded or stored (at
    most `MOST_ELEMENTS` of `lane_count`). `before` and `after` are the values in memory; a
    compare-and-swap that failed and an atomic load have not `wrote`. `through` is the argument
    whose pointer or descriptor was used."""

    number: int  # in order of execution, from 0
    program: Program
    kind: AccessKind
    op: str
    span: Span
    callers: tuple[Span, ...]
    before: Any
    after: Any
    wrote: bool
    lanes: tuple[Element, ...]
    lane_count: int
    through: str | None
    sem: str | None = None
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Accesses:
    """All accesses to an element in order of execution: the first and the last ones, and how many
    there were. `start` and `end` are its values before and after the launch. `error` says in what
    the kernel ended, if not well: what it did until then is what there is."""

    argument: str
    index: Element
    type_text: str
    count: int
    first: tuple[ElementAccess, ...]
    last: tuple[ElementAccess, ...]
    start: Any
    end: Any
    error: str = ""

    @property
    def left_out(self) -> int:
        """How many accesses between `first` and `last` are not kept."""
        return self.count - len(self.first) - len(self.last)

    def __iter__(self) -> Iterator[ElementAccess]:
        yield from self.first
        yield from self.last

    def __len__(self) -> int:
        return len(self.first) + len(self.last)

    def __getitem__(self, number: int) -> ElementAccess:
        return (self.first + self.last)[number]


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """One value of one element, and the values that it came from.

    `op` is the operation's name, or "argument" (a number that was passed), "turn" (a loop's
    variable), "memory" (an element as somebody left it). `element` is the position in the block, or
    the index in the argument of "memory". `span` is None where no line made it. `result` is which
    one of several results of the operation it is. `took`
    counts the elements that were combined (0: as many as there are operands), of which `left_out`
    are not among the operands. `attributes` are the operation's."""

    op: str
    span: Span | None
    callers: tuple[Span, ...]
    program: Program | None
    element: Element
    value: Any
    type_text: str
    operands: tuple[Link, ...] = ()
    roles: tuple[Role, ...] = ()
    note: Note = ""
    name: str = ""  # of an argument
    place: Place | None = None  # in memory, of a load, a store, an atomic and of "memory"
    turns: tuple[Turn, ...] = ()  # the loops around it, the outermost first
    took: int = 0
    left_out: int = 0
    result: int | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def walk(self) -> Iterator[Link]:
        """This link and all behind it, each once, the nearest first."""
        seen, waiting = {id(self)}, [self]
        for link in waiting:
            yield link
            for operand in link.operands:
                if id(operand) not in seen:
                    seen.add(id(operand))
                    waiting.append(operand)


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Where the value of an element came from. `head` is the store or atomic that wrote it last, or
    "memory" if the launch did not write it. `more` counts links that were followed no further. `error`
    as of `Accesses`."""

    argument: str
    index: Element
    type_text: str
    value: Any
    head: Link
    links: int
    more: int = 0
    error: str = ""

    @property
    def program(self) -> Program | None:
        """The instance that wrote it last; None: none."""
        return self.head.program


@dataclass(frozen=True, slots=True, eq=False)
class MemoryMap:
    """Of each element of an argument: the linear id of the instance that wrote it last (-1: none),
    and how often it was read. Both arrays have the argument's shape."""

    argument: str
    grid: Program
    writers: Any
    reads: Any


__all__ = [
    "Accesses",
    "Chain",
    "ElementAccess",
    "Link",
    "MemoryMap",
    "Note",
    "Place",
    "Role",
    "Turn",
]
