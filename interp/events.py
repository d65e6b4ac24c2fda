"""`Checker`: what a machine tells whoever judges a launch, as empty hooks.

A machine knows no checker and a checker knows no machine: machines call the hooks below, in this
order, and checkers answer with events (`blockstep.findings`), which are data without words.

    launch  argument*  (instance  (access | atomic | barrier | value | branch)*  instance_end)*
        launch_end   ...   session_end

An instance that waits is left in the middle and entered again, so hooks carry the program
instance. `access` comes before memory is touched, `atomic` right after an atomic was. The lanes
that a checker wants skipped leave the access before the next checker sees it (`hear`), so all but
the first one may assume that every active lane lies inside `access.storage`.

Invariant: `access.storage` is one storage, or None where no lane reaches any; `split` sees to
that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from blockstep.findings import Access, Event, Program, Site, Span
from blockstep.interp.memory import AddressSpace, View
from blockstep.language.frames import callers_of
from blockstep.language.op import Op

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Unread:
    """Elements of a load that nothing has written: told about where they decide something."""

    lanes: Flags
    tell: Callable[[], None]


@dataclass(frozen=True, slots=True, eq=False)
class Launched:
    """What checkers may know of a launch."""

    judge: Callable[[Event], None]  # hears of every event
    kernel: str = ""
    grid: Program = (1, 1, 1)
    space: AddressSpace = field(default_factory=AddressSpace)
    host: Span | None = None  # the line of the launch
    number: int | None = None
    seed: int | None = None
    complete: bool = True  # every program instance runs, not a chosen few
    unread: list[Unread] | None = None  # where a machine that follows values finds what it loaded

    @property
    def views(self) -> Sequence[View]:
        """The array arguments."""
        return self.space.views


class Checker:
    """Hears of everything and says nothing: subclasses override the hooks that they need."""

    name: ClassVar[str] = ""  # as in `findings.KINDS`: what --only and --skip call it
    launched: Launched

    def launch(self, launch: Launched) -> None:
        """A launch begins. Subclasses call this one first."""
        self.launched = launch

    def instance(self, program: Program) -> None:
        """A program instance begins."""

    def access(self, access: Access) -> Flags | None:
        """Memory is about to be read, written or both; the answer is the lanes to skip, if any."""
        return None

    def atomic(self, access: Access, old: Any, new: Any, changed: Flags | None) -> None:
        """An atomic was executed; `access` had its hearing before.

        `changed` has the lanes that wrote (None: all active ones). A compare-and-swap that failed
        wrote nothing; a maximum that stayed as it was did write.
        """

    def barrier(self, program: Program, site: Site) -> None:
        """A program instance passed a `debug_barrier`."""

    def instance_end(self, program: Program) -> None:
        """A program instance is done."""

    def launch_end(self) -> None:
        """The launch is done: no later access is part of it."""

    def session_end(self) -> None:
        """Nothing more will be launched; said to checkers that live longer than one launch."""

    def argument(self, name: str, value: Any) -> None:
        """What a parameter of the kernel holds, before the first program instance begins."""

    def value(
        self, program: Program, op: Op, operands: Any, attributes: dict[str, Any], result: Any
    ) -> Any:
        """An operation was evaluated, its accesses included. The answer takes the result's place:
        the same elements, perhaps with a facet. (Heard from `FollowedMachine` only.)"""
        return result

    def branch(self, program: Program, value: Any, site: Site) -> None:
        """The scalar `value` decides a branch. (Heard from `FollowedMachine` only.)"""

    def found(
        self, event: type[Event], site: Site | None, program: Program | None, **fields: Any
    ) -> None:
        """Tells the judge; without a site the event is about the launch itself."""
        here = self.launched
        span = here.host or Span("", 0) if site is None else site.span
        here.judge(
            event(
                span=span,
                kernel=here.kernel,
                program=program,
                grid=here.grid,
                host=here.host,
                launch=here.number,
                callers=() if site is None else callers_of(site),
                **fields,
            )
        )


def hooks(checkers: Iterable[Checker], name: str) -> tuple[Callable[..., Any], ...]:
    """One hook of all checkers that override it."""
    empty = getattr(Checker, name)
    return tuple([getattr(c, name) for c in checkers if getattr(type(c), name) is not empty])


def hear(checkers: Iterable[Checker], access: Access) -> Flags | None:
    """Asks every checker about `access`, whose mask loses the lanes to skip: the answer."""
    skipped: Flags | None = None
    for checker in checkers:
        skip = checker.access(access)
        if skip is not None:
            skipped = skip if skipped is None else skipped | skip
            access.mask = ~skip if access.mask is None else access.mask & ~skip
            access.skipped = True
    return skipped


def split(access: Access, space: AddressSpace) -> list[Access]:
    """One access for each storage that the lanes lie in; usually `access` itself, completed."""
    if access.storage is not None:
        return [access]
    parts = []
    for storage, mask in space.locate(access.addresses, access.mask):
        part = access if mask is access.mask else access.part(mask)
        part.storage = storage
        parts.append(part)
    return parts
