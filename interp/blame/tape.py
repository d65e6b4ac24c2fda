"""`Tape`: every operation that one program instance evaluates, with its operands and results.

Values are immutable, so keeping them is keeping references. What they take is bounded: past the limit
the oldest results are let go of (`Gone`), and whoever needs one of those runs the instance again with
a tape that ends there. An instance is deterministic, so operations have the same numbers in each run.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from blockstep.findings import Program, Site
from blockstep.findings.blame import Turn
from blockstep.interp.blame.log import Captured
from blockstep.interp.forms import Affine, Uniform
from blockstep.language.op import Op
from blockstep.language.value import tensor

MOST_BYTES = 1 << 27
_OVERHEAD = 64  # bytes of a value in compact form


class Gone(Exception):
    """The results of an operation are not kept any more."""

    def __init__(self, program: Program, number: int) -> None:
        self.program, self.number = program, number
        super().__init__(f"operation {number} of program instance {program}")


class Enough(BaseException):
    """A tape has come to its end: nobody wants the rest of the launch."""


class Node:
    """One operation. An operand is a value of another node, or a value that no operation made."""

    __slots__ = (
        "attributes", "captured", "loads", "number", "op", "operands", "results", "site", "tape",
        "turns",
    )  # fmt: skip

    def __init__(
        self, tape: Tape, number: int, op: Op, operands: tuple[Any, ...],
        attributes: dict[str, Any], site: Site, turns: tuple[Turn, ...],
        captured: list[Captured],
    ) -> None:  # fmt: skip
        self.tape, self.number, self.op = tape, number, op
        self.operands, self.attributes = operands, attributes
        self.site, self.turns, self.captured = site, turns, captured
        self.results: tuple[tensor, ...] | None = None
        self.loads: bool = op.name in _LOADS or any(
            type(x) is Made and x.node.loads for x in operands
        )  # whether memory had a part in it

    def result(self, number: int) -> tensor:
        """One of its results. Raises Gone."""
        self.need()
        assert self.results is not None
        return self.results[number]

    def need(self) -> None:
        """Raises Gone if what it gave and touched is not kept."""
        if self.results is None:
            raise Gone(self.tape.program, self.number)


_LOADS = frozenset({"load", "atomic_rmw", "atomic_cas", "atomic_load"})


class Made:
    """Which operation made a value, and which of its results it is."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node, self.index = node, index


class Tape:
    """The operations of `program`, up to number `until` (None: all)."""

    def __init__(self, program: Program, until: int | None = None, limit: int = MOST_BYTES) -> None:
        self.program, self.until, self.limit = program, until, limit
        self.nodes: list[Node] = []
        self.inputs: dict[int, Any] = {}  # by identity: values that no operation made, and what
        self.loops: list[tuple[Any, Turn]] = []
        self._held: deque[tuple[Node, int]] = deque()
        self._bytes = 0
        self._kept: list[Any] = []  # inputs, so that their identities stay theirs

    @property
    def count(self) -> int:
        """The number of the next operation."""
        return len(self.nodes)

    def input(self, value: Any, what: Any) -> None:
        """A value that no operation made: the name of an argument, or the turn of a loop."""
        self._kept.append(value)
        self.inputs[id(value)] = what

    def turn(self, loop: Any, number: int | None, value: int | None) -> None:
        """A turn of a loop begins (None: the loop is over)."""
        at = next((i for i, (known, _) in enumerate(self.loops) if known is loop), None)
        if at is not None:
            del self.loops[at:]
        if number is not None:
            self.loops.append((loop, Turn(number, value)))

    def add(
        self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any], result: Any,
        site: Site, captured: list[Captured],
    ) -> Any:  # fmt: skip
        """Writes an operation down: its result, marked with where it comes from. Raises Enough after
        the last one that is wanted."""
        given = tuple([self.known(x) for x in operands])
        turns = tuple([turn for _, turn in self.loops])
        node = Node(self, len(self.nodes), op, given, attributes, site, turns, captured)
        self.nodes.append(node)
        made: list[tensor] = []
        several = type(result) is tuple
        for index, x in enumerate(result if several else () if result is None else (result,)):
            mine = _own(x)
            mine.made = Made(node, index)
            made.append(mine)
        node.results = tuple(made)
        self._hold(node)
        if self.until is not None and len(self.nodes) >= self.until:
            raise Enough
        return node.results if several else made[0] if made else None

    def known(self, x: Any) -> Any:
        """Where an operand comes from: `Made` of this tape, or the value itself."""
        made = getattr(x, "made", None)
        return made if made is not None and made.node.tape is self else x

    def fill(self, other: Tape) -> None:
        """Takes results from another run of the same instance."""
        for node in other.nodes:
            mine = self.nodes[node.number]
            if mine.results is None and node.results is not None:
                mine.results = node.results
                mine.captured = node.captured

    def _hold(self, node: Node) -> None:
        assert node.results is not None
        size = sum(_size(x) for x in node.results)
        size += sum(np.asarray(c.before).nbytes for c in node.captured)
        self._held.append((node, size))
        self._bytes += size
        while self._bytes > self.limit and len(self._held) > 1:
            old, freed = self._held.popleft()
            old.results, old.captured = None, []
            self._bytes -= freed


def _own(x: tensor) -> tensor:
    """The value as an object of its own: an operation may give an operand back, or a constant that
    others share."""
    mine = tensor(x._handle, x.type)
    mine.form, mine.marks, mine.origin = x.form, x.marks, x.origin
    mine.bounds = x.bounds
    return mine


def _size(x: tensor) -> int:
    handle = x._handle
    return _OVERHEAD if handle is None else _OVERHEAD + int(getattr(handle, "nbytes", 0))


def element_of(x: Any, index: tuple[int, ...]) -> Any:
    """One element of a value, as a NumPy scalar of its type."""
    form = x.form
    if form is not None and x._handle is None:
        if type(form) is Uniform:
            return x.type.scalar.numpy.type(form.value)
        if type(form) is Affine:
            steps = form.strides or (0,) * len(index)
            number = form.const + sum(s * i for s, i in zip(steps, index, strict=True))
            return x.type.scalar.numpy.type(number)
    return np.broadcast_to(np.asarray(x.handle), x.type.shape)[index]


__all__ = ["Enough", "Gone", "Made", "Node", "Tape", "element_of"]
