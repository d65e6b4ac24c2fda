"""The parts of an event: argument, lanes, the two sides of a race, the birth of a NaN; and `Event`,
what all share.

Invariant: elements are multi-indices into the argument, lanes are positions in the block, and both
are capped where they are made, so that an event stays small however large the block.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from blockstep.findings.model import MOST_ELEMENTS, Element, Program, Severity, Span

if TYPE_CHECKING:
    from blockstep.interp.memory import View


@dataclass(frozen=True, slots=True)
class Argument:
    """What a message needs to know of an argument."""

    name: str
    type_text: str = ""  # float32[1000]
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()  # in elements
    itemsize: int = 0
    passed_at: Span | None = None
    made_by: str | None = None  # numpy.empty, for memory that nothing initialised
    made_at: Span | None = None

    @classmethod
    def of(cls, view: View) -> Argument:
        """The argument behind a view."""
        made = view.storage.made_by if view.storage is not None else None
        return cls(
            view.name,
            view.type_text.partition(" with strides")[0],  # `strides` has them
            tuple(view.shape),
            tuple(view.strides),
            view.itemsize,
            view.passed_at,
            made.made_by if made else None,
            made.made_at if made else None,
        )


@dataclass(frozen=True, slots=True)
class Lanes:
    """Which positions of a block take part: how many, the box around them, the first few."""

    shape: tuple[int, ...]
    count: int
    box: tuple[tuple[int, int], ...] = ()  # first and last position along each axis
    first: tuple[Element, ...] = ()

    @classmethod
    def of(cls, chosen: npt.NDArray[np.bool_]) -> Lanes:
        """The positions where `chosen` is true."""
        chosen = np.asarray(chosen)
        where = np.argwhere(chosen) if chosen.ndim else np.zeros((int(chosen), 0), np.int64)
        box = (
            tuple((int(lo), int(hi)) for lo, hi in zip(where.min(0), where.max(0), strict=True))
            if len(where)
            else ()
        )
        return cls(chosen.shape, len(where), box, _indices(where))

    @property
    def total(self) -> int:
        """Elements in the block."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def is_box(self) -> bool:
        """Whether every position in the box takes part."""
        return self.count == int(np.prod([hi - lo + 1 for lo, hi in self.box], dtype=np.int64))


def _indices(where: npt.NDArray[np.int64]) -> tuple[Element, ...]:
    return tuple(tuple(int(i) for i in row) for row in where[:MOST_ELEMENTS])


@dataclass(frozen=True, slots=True)
class Touch:
    """One side of a race or an overlap: who touched which elements, and where in the source."""

    op: str
    span: Span
    program: Program
    elements: tuple[Element, ...] = ()
    count: int = 0
    lane: Element | None = None
    value: str | None = None  # as a reader would write it
    sem: str | None = None
    scope: str | None = None

    @property
    def word(self) -> str:
        """read, write or atomic."""
        return (
            "atomic" if self.op.startswith("atomic") else "write" if "store" in self.op else "read"
        )


BirthHow = Literal[
    "computed",  # by one operation, of elements that were numbers: inf - inf
    "combined",  # among the elements of a sum, a scan, a matrix product
    "loaded",  # it lay in memory before the launch
    "passed",  # as a scalar argument
    "written",  # in the source: float("nan")
    "bits",  # integer bits, read as a float
]


@dataclass(frozen=True, slots=True)
class Birth:
    """Where a value became NaN that had been numbers until then."""

    how: BirthHow
    span: Span
    program: Program | None = None
    op: str = ""  # as machines call it: "sub", "fdiv", "log", "reduce"; a libdevice function
    operands: tuple[str, ...] = ()  # values of the element, as a reader would write them
    element: Element = ()  # its position in the block that the operation made
    type_text: str = ""  # float16: of the result
    argument: str | None = None  # of a load; the name of a scalar argument
    source: Element = ()  # of a load: the element of the argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What every event says: where in the source, which kernel, program instance, launch."""

    kind: ClassVar[str] = "internal"
    span: Span
    kernel: str = ""
    program: Program | None = None
    grid: Program | None = None
    host: Span | None = None
    launch: int | None = None
    callers: tuple[Span, ...] = ()

    @property
    def key(self) -> Hashable:
        """The key that the finding will have: `Report.repeat(event.key, ...)` needs no words."""
        argument: Argument | None = getattr(self, "argument", None)
        return (self.kind_name, self.span, argument.name if argument else None, type(self).__name__)

    @property
    def kind_name(self) -> str:
        """The kind; some events decide it by what caused them."""
        return self.kind

    @property
    def severity(self) -> Severity | None:
        """None: the usual severity of the kind."""
        return None


def elements_of(
    view: View, addresses: npt.NDArray[np.int64], most: int = MOST_ELEMENTS
) -> tuple[Element, ...]:
    """The multi-indices of the first few addresses, in order and without repeats."""
    flat = addresses.reshape(-1)
    some = dict.fromkeys(int(a) for a in flat[: 64 * most])
    return tuple(tuple(int(i) for i in view.element(a)) for a in list(some)[:most])
