"""Happens-before between the program instances of one launch.

Program instances of a launch are unordered; only a release in one and an acquire of what it left,
in another, order them (the PTX memory model, chapter "Memory Consistency Model" of the PTX ISA).
A release makes a *snapshot*: the clocks of its program instance, and which snapshots that had
acquired. Snapshots are never copied into each other; what a program instance knows is added up
when a conflict asks, and most launches never ask.

An instance has two clocks. One lane (say, thread 0) makes all scalar accesses, so its own release
covers them. A block access is spread over all lanes of the instance, and a release by one of them
covers the others' only from the last `debug_barrier` on; with `barriers=False` it covers them at
once.

Invariant: `ordered(p, e)` is true iff a path of release and acquire leads from access `e` to what
`p` does next, and never turns false later. Deviation: an acquire counts for the whole instance,
whichever lanes made it.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from blockstep.findings import Access, Program

SCALAR, BLOCK = 0, 1
# Of every instance that has ended; nothing is added to them.
_NOTHING: set[int] = set()
_NO_PLACES: set[object] = set()
_NO_SNAPSHOTS: list[int] = []
_NO_EPOCHS: dict[object, Epoch] = {}
_CLOSURES = 64  # snapshots whose sum is kept, for the next instance that acquires the same


class Epoch:
    """One instruction of one program instance between two ticks of its clock: a side of a race."""

    __slots__ = (
        "atomic",
        "clock",
        "instance",
        "memo",
        "narrow",
        "number",
        "op",
        "scope",
        "sem",
        "site",
        "size",
        "stream",
        "writes",
    )

    def __init__(
        self, number: int, instance: Instance, stream: int, access: Access, writes: bool
    ) -> None:
        self.number = number
        self.instance = instance
        self.stream = stream
        self.clock = instance.block if stream else instance.scalar
        self.site, self.op, self.writes = access.site, access.op, writes
        self.size = access.itemsize
        self.sem, self.scope = access.sem, access.scope
        self.atomic = access.kind == "atomic" or self.sem == "volatile"
        # Scope "cta": atomic for its own program instance only.
        self.narrow = self.atomic and self.scope == "cta"
        self.memo: dict[int, int] | None = None  # chain -> chain with this epoch added


class Instance:
    """A program instance: its clocks, what it acquired, and its epochs by instruction."""

    __slots__ = (
        "acquired",
        "block",
        "clean_reads",
        "clean_writes",
        "covered",
        "epochs",
        "index",
        "known",
        "pending",
        "program",
        "raced",
        "scalar",
        "snapshot",
        "synced",
        "unsent",
        "weak",
    )

    def __init__(self, index: int, program: Program) -> None:
        self.index, self.program = index, program
        self.scalar = self.block = 1
        self.covered = 0  # the block clock that a release publishes
        self.snapshot = 0  # its last one
        self.acquired: set[int] = set()  # snapshots of others
        self.pending: list[int] = []  # those that `known` lacks
        self.unsent: list[int] = []  # those that the last own snapshot lacks
        self.known: npt.NDArray[np.int32] | None = None
        self.epochs: dict[object, Epoch] = {}
        self.clean_reads: set[int] = set()  # chains of which every write is ordered before
        self.clean_writes: set[int] = set()  # chains of which everything is
        self.raced: set[object] = set()  # places of others that a load of this one raced with
        self.weak: tuple[int, str] | None = None  # last atomic that did not order, and why
        self.synced = 0  # number of epochs there were at the last atomic that might have

    def end(self) -> None:
        """Forgets what only a running instance needs."""
        self.epochs, self.known, self.raced = _NO_EPOCHS, None, _NO_PLACES
        self.acquired = self.clean_reads = self.clean_writes = _NOTHING
        self.pending = self.unsent = _NO_SNAPSHOTS


class Clocks:
    """All instances of a launch and the snapshots they made."""

    def __init__(self, barriers: bool = True) -> None:
        self.barriers = barriers
        self.instances: dict[Program, Instance] = {}
        self.epochs: list[Epoch | None] = [None]  # by number, in order of time
        # by snapshot; 0 is none
        self._owner: list[int] = [-1]
        self._clocks: list[tuple[int, int, int]] = [(0, 0, 0)]  # scalar, block, epochs
        self._parents: list[tuple[int, ...]] = [()]
        self._closures: OrderedDict[int, npt.NDArray[np.int32]] = OrderedDict()

    def of(self, program: Program) -> Instance:
        """The instance of a program id."""
        found = self.instances.get(program)
        if found is None:
            found = self.instances[program] = Instance(len(self.instances), program)
        return found

    def barrier(self, p: Instance) -> None:
        """All lanes of the instance meet: what they did is covered by its next release."""
        p.covered = p.block
        p.block += 1

    def release(self, p: Instance) -> int:
        """A snapshot of all that happened before; what `p` does from now on is not in it."""
        if not self.barriers:
            self.barrier(p)
        parents = (p.snapshot, *p.unsent) if p.snapshot else tuple(p.unsent)
        p.unsent.clear()
        p.snapshot = self._add(p.index, (p.scalar, p.covered, len(self.epochs)), parents)
        p.scalar += 1
        return p.snapshot

    def join(self, one: int, two: int) -> int:
        """What two snapshots cover together."""
        if not one or self._owner[one] == self._owner[two] != -1:
            return max(one, two)
        return self._add(-1, (0, 0, 0), (one, two))

    def acquire(self, p: Instance, snapshot: int) -> None:
        """What the snapshot covers happened before what `p` does from now on."""
        if snapshot and self._owner[snapshot] != p.index and snapshot not in p.acquired:
            p.acquired.add(snapshot)
            p.pending.append(snapshot)
            p.unsent.append(snapshot)

    def _add(self, owner: int, clocks: tuple[int, int, int], parents: tuple[int, ...]) -> int:
        self._owner.append(owner)
        self._clocks.append(clocks)
        self._parents.append(parents)
        return len(self._owner) - 1

    def ordered(self, p: Instance, e: Epoch) -> bool:
        """Whether the access happened before what `p` does next."""
        q = e.instance
        if q is p:
            return True
        if p.pending:
            self._learn(p)
        known = p.known
        return (
            known is not None
            and q.index < known.shape[1]
            and bool(known[e.stream, q.index] >= e.clock)
        )

    def _learn(self, p: Instance) -> None:
        found = self._closure(p.pending)
        if p.known is not None:
            found = _maximum(found, p.known)
        p.known = found
        p.pending.clear()

    def _closure(self, roots: list[int]) -> npt.NDArray[np.int32]:
        """The highest clocks of every instance in the snapshots below `roots`."""
        if len(roots) == 1 and roots[0] in self._closures:
            self._closures.move_to_end(roots[0])
            return self._closures[roots[0]]
        found = np.zeros((2, len(self.instances)), np.int32)
        for node in self._below(roots, stop_at_closures=True):
            closure = self._closures.get(node)
            if closure is not None:
                width = closure.shape[1]
                np.maximum(found[:, :width], closure, out=found[:, :width])
            owner = self._owner[node]
            if owner >= 0:
                scalar, covered, _ = self._clocks[node]
                found[SCALAR, owner] = max(found[SCALAR, owner], scalar)
                found[BLOCK, owner] = max(found[BLOCK, owner], covered)
        if len(roots) == 1:
            self._closures[roots[0]] = found
            if len(self._closures) > _CLOSURES:
                self._closures.popitem(last=False)
        return found

    def _below(self, roots: list[int], stop_at_closures: bool) -> list[int]:
        seen, stack = set(roots), list(roots)
        for node in stack:
            if stop_at_closures and node in self._closures:
                continue
            for parent in self._parents[node]:
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        return stack

    def lacks_barrier(self, p: Instance, e: Epoch) -> bool:
        """Whether a `debug_barrier` before the release is all that is missing for `ordered`."""
        below = self._below(list(p.acquired), stop_at_closures=False)
        return e.stream == BLOCK and any(
            self._owner[node] == e.instance.index and self._clocks[node][2] > e.number
            for node in below
        )


def _maximum(one: npt.NDArray[np.int32], two: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Elementwise, where one may know fewer instances than the other."""
    if one.shape[1] < two.shape[1]:
        one, two = two, one
    found = one.copy()
    width = two.shape[1]
    np.maximum(found[:, :width], two, out=found[:, :width])
    return found
