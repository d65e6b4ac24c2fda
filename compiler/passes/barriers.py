"""Barriers between accesses of one program instance to the same global memory.

The language's operations happen one after another, a block at a time; the lanes of a CTA do not wait
for each other. Where one access may touch what another lane's earlier access touches, and one of them
writes, a barrier goes between. Two accesses need none if every lane reads and writes its own elements
alone: the same pointers, held in the same layout without copies. What two pointers may point to is
told by the parameter they come from; a pointer from elsewhere may point anywhere. Two parameters are
taken for different memory (`together` says otherwise, for a launch that passes one array twice).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from blockstep.ir import Function, Layout, Operation, Region, Value
from blockstep.language.op import OPS

READS = frozenset({"load", "async_copy", "atomic_load"})
WRITES = frozenset({"store", "atomic_store", "atomic_rmw", "atomic_cas"})
_THROUGH = frozenset(
    {"addptr", "splat", "broadcast", "expand_dims", "reshape", "permute", "convert", "hint",
     "box_pointers", "bitcast", "gather", "flip"}
)  # fmt: skip
_POINTER = {"async_copy": 3}
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


@dataclass(slots=True)
class _State:
    """Accesses since the last barrier."""

    reads: list[Operation] = field(default_factory=list)
    writes: list[Operation] = field(default_factory=list)

    def join(self, other: _State) -> None:
        """Either may have come before."""
        self.reads += [r for r in other.reads if r not in self.reads]
        self.writes += [w for w in other.writes if w not in self.writes]

    def copy(self) -> _State:
        return _State(list(self.reads), list(self.writes))


class _Walk:
    def __init__(self, function: Function, together: bool) -> None:
        self.together = together
        self.roots: dict[Value, frozenset[Root]] = {}
        self.written = {
            root
            for operation in function.walk()
            if operation.name in WRITES
            for root in self.of(_pointer(operation))
        }

    # ---- where pointers come from

    def of(self, pointer: Value) -> frozenset[Root]:
        """The parameters whose memory a pointer may point to."""
        known = self.roots.get(pointer)
        if known is None:
            self.roots[pointer] = frozenset()  # of a value that is carried round a loop
            known = self.roots[pointer] = self._find(pointer)
        return known

    def _find(self, pointer: Value) -> frozenset[Root]:
        producer = pointer.producer
        if producer is None:
            return self._argument(pointer)
        if producer.name in _THROUGH:
            return self.of(producer.operands[0])
        if producer.name == "select":
            return self.of(producer.operands[1]) | self.of(producer.operands[2])
        if producer.name == "for":
            (body,) = producer.regions
            return self.of(body.arguments[pointer.index + 1])
        if producer.name == "if":
            ends = [r.terminator.operands[pointer.index] for r in producer.regions]
            return self.of(ends[0]) | self.of(ends[1])
        return frozenset({ANYWHERE})

    def _argument(self, pointer: Value) -> frozenset[Root]:
        region = pointer.owner
        assert isinstance(region, Region)
        owner = region.parent
        if isinstance(owner, Function):
            return frozenset({ANYWHERE if self.together else pointer})
        if owner is not None and owner.name == "for" and pointer.index:
            carried = owner.operands[pointer.index + 2]
            return self.of(carried) | self.of(region.terminator.operands[pointer.index - 1])
        return frozenset({ANYWHERE})

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
            for _ in range(2):  # the second time, what the first left behind comes before
                for inner in operation.regions:
                    self.region(inner, state)
        elif name == "if":
            self.choice(operation, state)
        elif name in READS or name in WRITES:
            self.access(operation, state)

    def choice(self, operation: Operation, state: _State) -> None:
        """Both ways start from the same state; afterwards either may have been taken."""
        first, second = state.copy(), state.copy()
        self.region(operation.regions[0], first)
        self.region(operation.regions[1], second)
        state.reads, state.writes = first.reads, first.writes
        state.join(second)

    def access(self, operation: Operation, state: _State) -> None:
        roots = self.of(_pointer(operation))
        if not self.may_be_written(roots):
            return
        before = state.writes if operation.name in READS else state.writes + state.reads
        if any(self.meet(operation, roots, other) for other in before):
            barrier = Operation(OPS["barrier"], [], [], {}, location=operation.location)
            barrier.insert_before(operation)
            state.reads.clear()
            state.writes.clear()
        if operation.name in READS:
            state.reads.append(operation)
        else:
            state.writes.append(operation)

    def may_be_written(self, roots: frozenset[Root]) -> bool:
        """Memory that the kernel only reads needs no order."""
        if ANYWHERE in roots or ANYWHERE in self.written:
            return bool(self.written)
        return bool(self.written & roots)

    def meet(self, operation: Operation, roots: frozenset[Root], other: Operation) -> bool:
        """Whether two accesses may touch one element from two lanes."""
        mine, theirs = _pointer(operation), _pointer(other)
        if mine is theirs and _own_elements(mine):
            return False
        found = self.of(theirs)
        return bool(roots & found) or ANYWHERE in roots or ANYWHERE in found


def _pointer(operation: Operation) -> Value:
    return operation.operands[_POINTER.get(operation.name, 0)]


def _own_elements(pointer: Value) -> bool:
    """Whether no two lanes hold the same element."""
    layout = pointer.layout
    if not isinstance(layout, Layout):
        return False
    return all((*layout.lanes, *layout.warps, *layout.ctas))
