"""`Slice`: the way back from one element of one value, through operations, loops, memory and other
program instances, to what the host passed.

Nearest lines come first; what lies beyond the limits is counted. A value that is NaN or infinite is
followed to the operand that was so already, before any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.findings import Program
from blockstep.findings.blame import Chain, Place, Turn
from blockstep.interp.blame.drafts import Draft, Queue, finished
from blockstep.interp.blame.log import WriteLog
from blockstep.interp.blame.parts import parts_of
from blockstep.interp.blame.stored import opened_event, opened_load
from blockstep.interp.blame.tape import Gone, Made, Node, Tape, element_of
from blockstep.interp.memory import AddressSpace, Storage, View

MOST_LINKS = 1500
MOST_LINES = 48  # between the head and what is still followed
_FAR = {"condition": 2, "index": 2}
_OTHER = 6  # operands that are numbers, where the result and another operand are not


class Slice:
    """One chain, from what a run has written down. `wanted` are instances, nearest first, whose
    operations were not written down and would have been followed. `final`: what is not kept is
    followed no further, instead of asked for."""

    def __init__(
        self, log: WriteLog, tapes: dict[Program, Tape], space: AddressSpace, final: bool = False
    ) -> None:
        self.log, self.tapes, self.space, self.final = log, tapes, space, final
        self.wanted: list[Program] = []
        self._queue = Queue()
        self._known: dict[Any, Draft] = {}

    def chain(self, argument: str, index: tuple[int, ...], head: Draft) -> Chain:
        """The chain behind a draft. Raises Gone where a tape has let go of what is needed."""
        self._queue.push(head, 0)
        left = MOST_LINKS
        while left and (draft := self._queue.pop()) is not None:
            if draft.cost > MOST_LINES:
                draft.opened = False
                break
            if draft.about is not None:
                self._open(draft)
                left -= 1
        link, links, more = finished(head)
        return Chain(argument, index, head.type_text, head.value, link, links, more)

    # Drafts.

    def memory(
        self, storage: Storage, address: int, event: int, value: Any, kind: Any,
        view: View | None, before: tuple[int, ...] | None = None,
    ) -> Draft:  # fmt: skip
        """An element in memory, as an event left it (0: as the host passed it); of an atomic, `before`
        one of its lanes had its turn."""
        size = kind.scalar.numpy.itemsize
        key = "memory", event, address, size, before
        found = self._known.get(key)
        if found is not None:
            return found
        place = self.place(storage, address, view)
        if not event:
            made = Draft(
                "memory", value, kind.scalar.codegen_name(), () if place is None else place.index,
                note="more" if self.log.begins_before(address) else "host", place=place,
            )  # fmt: skip
        else:
            program = self.log.program(event)
            made = Draft(
                self.log.op(event), value, kind.scalar.codegen_name(), site=self.log.site(event),
                program=program, place=place, about=("event", event, storage, address, size, before),
            )  # fmt: skip
            node = self.node_of(event)
            if node is not None:
                made.site, made.turns = node.site, node.turns
        self._known[key] = made
        return made

    def node_of(self, event: int) -> Node | None:
        """The operation that made an event, if it is written down."""
        tape, number = self.tapes.get(self.log.program(event)), self.log.node(event)
        if tape is None or number is None or number >= len(tape.nodes):
            return None
        return tape.nodes[number]

    def place(self, storage: Storage, address: int, view: View | None) -> Place | None:
        """The element of an argument at an address."""
        views = [v for v in storage.views if v.size and v.contains(np.int64(address), 1)]
        if view is None or view not in views:
            view = views[0] if views else None
        if view is None:
            return None
        return Place(view.name, tuple([int(i) for i in view.element(address)]))

    def value(self, x: Any, index: tuple[int, ...], tape: Tape) -> Draft:
        """An element of a value that is no pointer. Raises Gone."""
        if type(x) is not Made:
            return self._given(x, index, tape)
        node = x.node
        key = node.tape.program, node.number, x.index, index
        found = self._known.get(key)
        if found is None:
            result = node.result(x.index)
            op = node.op.name if node.op.name != "libdevice" else node.attributes["function"]
            found = self._known[key] = Draft(
                op, element_of(result, index), result.type.scalar.codegen_name(), index,
                node.site, node.tape.program, ("value", node, x.index, index),
                turns=node.turns, attributes=node.attributes,
            )  # fmt: skip
            if len(node.results or ()) > 1:
                found.result = x.index
            if not node.operands:
                found.about = None
        return found

    def _given(self, x: Any, index: tuple[int, ...], tape: Tape) -> Draft:
        """A value that no operation made."""
        value, kind = element_of(x, index), x.type.scalar.codegen_name()
        named = self.log.arguments.get(id(x))
        if named is not None:
            return Draft("argument", value, kind, index, name=named[0])
        turn = tape.inputs.get(id(x))
        if isinstance(turn, Turn):
            return Draft("turn", value, kind, index, program=tape.program, turns=(turn,))
        return Draft("constant", value, kind, index)

    # Following.

    def _open(self, draft: Draft) -> None:
        try:
            self._parts(draft)
        except Gone:
            if not self.final:
                raise
            draft.note = "more"
        self._follow(draft)

    def _parts(self, draft: Draft) -> None:
        what, *about = draft.about
        if what == "event":
            opened_event(self, draft, *about)
        else:
            node, number, index = about
            if node.op.name == "load" or node.op.name.startswith("atomic"):
                opened_load(self, draft, node, index)
            else:
                self._operation(draft, node, number, index)

    def _operation(self, draft: Draft, node: Node, number: int, index: tuple[int, ...]) -> None:
        node.need()
        assert node.results is not None
        operands = [values_of(x) for x in node.operands]
        found = parts_of(node.op, operands, node.attributes, node.results, number, index)
        draft.took, draft.left_out = found.took, found.left_out
        for part in found.parts:
            if not operands[part.operand].type.scalar.is_ptr():
                operand = self.value(node.operands[part.operand], part.at, node.tape)
                draft.operands.append((operand, part.role))

    def _follow(self, draft: Draft) -> None:
        """Puts what a draft came from into the queue."""
        carriers = [x for x, _ in draft.operands if _alike(draft.value, x.value)]
        odd = _is_odd(draft.value)
        if odd and draft.operands and not carriers and not draft.note and draft.place is None:
            draft.note = "born"
        for operand, role in draft.operands:
            far = _FAR.get(role, 0) + (operand.line != draft.line)
            if odd and carriers and operand not in carriers:
                far += _OTHER
            self._queue.push(operand, draft.cost + far)


def values_of(x: Any) -> Any:
    """The value behind an operand. Raises Gone."""
    return x.node.result(x.index) if type(x) is Made else x


def _is_odd(value: Any) -> bool:
    return (
        value is not None and np.asarray(value).dtype.kind not in "biu" and not np.isfinite(value)
    )


def _alike(value: Any, other: Any) -> bool:
    """Whether both are NaN, or both infinite."""
    return _is_odd(value) and _is_odd(other) and bool(np.isnan(value) == np.isnan(other))


__all__ = ["MOST_LINES", "MOST_LINKS", "Slice"]
