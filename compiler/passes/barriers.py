"""Barriers between accesses of one program instance to the same global memory.

The language's operations happen one after another, a block at a time; the lanes of a CTA do not wait
for each other. Where one access may touch what another lane's earlier access touches, and one of them
writes, a barrier goes between. Two accesses need none if every lane reads and writes its own elements
alone: the same pointers, held in the same layout without copies, in the same iteration of the loop
that makes them (or in iterations that lie apart); nor do atomics that add up in any order. What two
pointers may point to is told by the parameter they come from; a pointer from elsewhere may point
anywhere. Two parameters are taken for different memory (`together` says otherwise, for a launch that
passes one array twice).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from blockstep.compiler.passes.distance import are_apart, lies_inside
from blockstep.compiler.passes.fuel import left, spend
from blockstep.compiler.passes.ordering import READS, WRITES, pointer_of, roots_of
from blockstep.ir import Function, Layout, Operation, Region, Value
from blockstep.ir.layout import rank
from blockstep.language.op import OPS

ANYWHERE = None

Root = Value | None


@dataclass(frozen=True)
class Barriers:
    """Inserts the barriers that are needed. Placed IR in and out."""

    together: bool = False
    name: str = "barriers"

    def apply(self, function: Function) -> None:
        """Walks the function in order; what a loop leaves behind meets its next iteration."""
        _Walk(function, self.together).region(function.body, _State())


@dataclass(frozen=True, slots=True)
class _Access:
    """An access since the last barrier; `loop`: in an earlier iteration of it, which made another
    pointer."""

    operation: Operation
    loop: Operation | None = None

    def again(self, loop: Operation) -> _Access:
        """As the next iteration of a loop sees it."""
        made_anew = lies_inside(pointer_of(self.operation), loop)
        return _Access(self.operation, loop) if made_anew else self


@dataclass(slots=True)
class _State:
    """Accesses since the last barrier."""

    reads: list[_Access] = field(default_factory=list)
    writes: list[_Access] = field(default_factory=list)

    def join(self, other: _State) -> None:
        """Either may have come before."""
        self.reads += [r for r in other.reads if r not in self.reads]
        self.writes += [w for w in other.writes if w not in self.writes]

    def copy(self) -> _State:
        return _State(list(self.reads), list(self.writes))

    def begin_again(self, loop: Operation) -> None:
        """From the end of an iteration to the start of the next."""
        self.reads = [access.again(loop) for access in self.reads]
        self.writes = [access.again(loop) for access in self.writes]


class _Walk:
    def __init__(self, function: Function, together: bool) -> None:
        self.together = together
        self.roots: dict[Value, frozenset[Root]] = {}
        self.written = {
            root
            for operation in function.walk()
            if operation.name in WRITES
            for root in self.of(pointer_of(operation))
        }

    def of(self, pointer: Value) -> frozenset[Root]:
        """The parameters whose memory a pointer may point to."""
        known = self.roots.get(pointer)
        if known is None:
            found = {ANYWHERE if self.together else root for root in roots_of(pointer)}
            known = self.roots[pointer] = frozenset(found)
        return known

    # ---- the walk

    def region(self, region: Region, state: _State) -> None:
        for operation in list(region.operations):
            self.one(operation, state)

    def one(self, operation: Operation, state: _State) -> None:
        name = operation.name
        if name == "barrier":
            state.reads.clear()
            state.writes.clear()
        elif name in ("for", "while"):
            self.loop(operation, state)
        elif name == "if":
            self.choice(operation, state)
        elif name in READS or name in WRITES:
            self.access(operation, state)

    def loop(self, operation: Operation, state: _State) -> None:
        """The second time, what the first left behind comes before; and there may be no time."""
        skipped = state.copy()
        for _ in range(2):
            state.begin_again(operation)
            for inner in operation.regions:
                self.region(inner, state)
        state.join(skipped)

    def choice(self, operation: Operation, state: _State) -> None:
        """Both ways start from the same state; afterwards either may have been taken."""
        first, second = state.copy(), state.copy()
        self.region(operation.regions[0], first)
        self.region(operation.regions[1], second)
        state.reads, state.writes = first.reads, first.writes
        state.join(second)

    def access(self, operation: Operation, state: _State) -> None:
        roots = self.of(pointer_of(operation))
        if not self.may_be_written(roots):
            return
        before = state.writes if operation.name in READS else state.writes + state.reads
        if any(self.meet(operation, roots, other) for other in before) and left():
            barrier = Operation(OPS["barrier"], [], [], {}, location=operation.location)
            barrier.insert_before(operation)
            spend(operation)
            state.reads.clear()
            state.writes.clear()
        if operation.name in READS:
            state.reads.append(_Access(operation))
        else:
            state.writes.append(_Access(operation))

    def may_be_written(self, roots: frozenset[Root]) -> bool:
        """Memory that the kernel only reads needs no order."""
        if ANYWHERE in roots or ANYWHERE in self.written:
            return bool(self.written)
        return bool(self.written & roots)

    def meet(self, operation: Operation, roots: frozenset[Root], other: _Access) -> bool:
        """Whether two accesses may touch one element from two lanes."""
        mine, theirs = pointer_of(operation), pointer_of(other.operation)
        if _commute(operation, other.operation):
            return False
        plain = not any("atomic" in one.name for one in (operation, other.operation))
        if mine is theirs and plain and _own_elements(mine):
            return other.loop is not None and not are_apart(mine, other.loop)
        found = self.of(theirs)
        return bool(roots & found) or ANYWHERE in roots or ANYWHERE in found


def _commute(one: Operation, other: Operation) -> bool:
    """Whether two atomics leave the same in either order, and tell nobody what they found."""
    if not {one.name, other.name} <= {"atomic_rmw", "tensor_reduce"}:
        return False
    how = one.attributes["combine"]
    silent = not one.results[0].uses and not other.results[0].uses
    return bool(silent and how == other.attributes["combine"] and how != "xchg")


def _own_elements(pointer: Value) -> bool:
    """Whether no two lanes hold the same element."""
    layout = pointer.layout
    if not isinstance(layout, Layout):
        return False
    lanes = len(layout.lanes + layout.warps + layout.ctas)
    return rank(layout.registers) + lanes == rank(layout.bases)
