"""`Draft`: a link of a chain while it is being made; a queue hands drafts out, the nearest first.

How near one is counts source lines, not operations: a draft on the line (and in the turn of its
loops) of the one that it leads to costs nothing.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

from blockstep.findings import Element, Program, Site
from blockstep.findings.blame import Link, Note, Place, Role, Turn

Key = tuple[Any, ...]


@dataclass(slots=True, eq=False)
class Draft:
    """As `Link`; `operands` are drafts with what each was. `about` is what the slice needs to go on
    from here (None: there is nothing behind it)."""

    op: str
    value: Any
    type_text: str
    element: Element = ()
    site: Site | None = None
    program: Program | None = None
    about: Any = None
    note: Note = ""
    name: str = ""
    place: Place | None = None
    turns: tuple[Turn, ...] = ()
    took: int = 0
    left_out: int = 0
    result: int | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    operands: list[tuple[Draft, Role]] = field(default_factory=list)
    cost: int = 1 << 30
    opened: bool = False

    @property
    def line(self) -> Key:
        """The execution of a source line that it belongs to."""
        if self.site is None:
            return (id(self),)
        span = self.site.span
        return span.file, span.line, self.site.callers, self.program, self.turns


class Queue:
    """Drafts that wait to be followed, by cost and then in the order in which they came."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Draft]] = []
        self._count = 0

    def push(self, draft: Draft, cost: int) -> None:
        """Follow it at this cost, unless it waits at a lower one."""
        if draft.opened or draft.cost <= cost:
            return
        draft.cost = cost
        self._count += 1
        heapq.heappush(self._heap, (cost, self._count, draft))

    def pop(self) -> Draft | None:
        """The nearest one; None when none is left."""
        while self._heap:
            cost, _, draft = heapq.heappop(self._heap)
            if not draft.opened and cost == draft.cost:
                draft.opened = True
                return draft
        return None


def finished(head: Draft) -> tuple[Link, int, int]:
    """The links, how many there are, and how many were followed no further."""
    made: dict[int, Link] = {}
    more = 0
    waiting = [(head, False)]
    entered: set[int] = set()
    while waiting:
        draft, ready = waiting.pop()
        if id(draft) in made:
            continue
        if not ready:
            if id(draft) in entered:
                continue
            entered.add(id(draft))
            waiting.append((draft, True))
            waiting += [(operand, False) for operand, _ in reversed(draft.operands)]
            continue
        if draft.about is not None and not draft.opened and not draft.note:
            draft.note = "more"
        more += draft.note == "more"
        made[id(draft)] = _link(draft, made)
    return made[id(head)], len(made), more


def _link(draft: Draft, made: dict[int, Link]) -> Link:
    site = draft.site
    return Link(
        draft.op, None if site is None else site.span, () if site is None else site.callers,
        draft.program, draft.element, draft.value, draft.type_text,
        tuple([made[id(operand)] for operand, _ in draft.operands]),
        tuple([role for _, role in draft.operands]), draft.note, draft.name, draft.place,
        draft.turns, draft.took, draft.left_out, draft.result, draft.attributes,
    )  # fmt: skip


__all__ = ["Draft", "Queue", "finished"]
