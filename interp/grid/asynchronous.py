"""Placed IR: copies and products that run beside the program instance that started them.

A slot of a ring goes through four states, and may be read in the last one alone:

    EMPTY  -> COPYING    `async_copy` started a copy into it
           -> ARRIVED    an `async_wait` made the copy's group complete, for the lanes that waited
           -> READABLE   a `barrier` behind that wait: now every lane of the CTA sees the block

What the copy engine copies arrives in another way: `interp/grid/engine.py`.

A product that reads a slot keeps it until the product is complete *and* a barrier stands behind
that, since other warps may lag; only then may a copy overwrite the slot. Sums in flight may be
handed on, and added to by the next product; anybody else needs a `dot_wait` that names them.

Programs of a batch may go different ways, so all of this is kept by program. A broken rule is a
`Hazard`: the IR that the machine was given is wrong, which is a bug of the compiler and never of
the kernel. This machine does not judge kernels in placed IR.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.findings import Finding, Severity, Span
from blockstep.interp.grid import memory
from blockstep.interp.grid.lanes import Lanes, Shape, constant, of_array
from blockstep.interp.grid.maps import Map
from blockstep.interp.grid.memory import Suspicion
from blockstep.ir import Function, Operation, SharedLayout, Value
from blockstep.language import types as ty

if TYPE_CHECKING:
    from blockstep.interp.grid.machine import GridMachine

EMPTY, COPYING, ARRIVED, READABLE = range(4)
NOBODY = -1  # no product reads the slot
MAY_HOLD = frozenset({"dot", "dot_wait", "for", "while"})
"""What may take sums in flight; `_product` sees which operand of a product they are."""

_UNREADABLE = {
    EMPTY: "into which nothing was copied",
    COPYING: "while the copy into it is still under way",
    ARRIVED: "with no barrier behind the wait for the copy into it",
}


class Hazard(Exception):
    """Placed IR that uses something asynchronous too early: a finding of the kind `async`."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.message} (line {finding.span.line})")
        self.finding = finding


@dataclass(slots=True, eq=False)
class Ring:
    """Shared memory for some blocks, by program of the batch and slot. That of a `convert` has one
    slot, and no data: nothing but its own block ever lies there."""

    data: Any  # in the order of addresses
    state: Any
    group: Any  # of the copy that was last started into it
    reader: Any  # the last product that may still read it

    @staticmethod
    def of(programs: int, slots: int, elements: int, kind: Any) -> Ring:
        """Memory for so many blocks of so many elements in each program."""
        shape = programs, slots
        return Ring(
            np.zeros((*shape, elements), kind),
            np.full(shape, EMPTY, np.int8),
            np.zeros(shape, np.int64),
            np.full(shape, NOBODY, np.int64),
        )


@dataclass(slots=True, eq=False)
class Phases:
    """The barriers of a ring's slots, by program and slot: bytes that are still to be announced or
    to come in the phase at hand, phases that were begun, and phases that were waited for."""

    owed: Any
    begun: Any
    over: Any

    @staticmethod
    def of(programs: int, slots: int) -> Phases:
        """Barriers whose first phase nobody has begun."""
        owed, begun, over = (np.zeros((programs, slots), np.int64) for _ in range(3))
        return Phases(owed, begun, over)


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """One product in flight: its number in each program of the batch that started it, else -1."""

    numbers: Any


@dataclass(slots=True, eq=False)
class Held:
    """A block in shared memory: where it lies, for the programs that have it."""

    ring: Ring
    programs: Any
    slots: Any


@dataclass(slots=True, eq=False)
class Asynchronous:
    """What is under way in one batch. `origin` and `lead` are the batch's box of the grid."""

    function: Function
    origin: Shape
    lead: Shape
    groups: Any = None  # of copies, committed so far
    issued: Any = None  # products, so far
    complete: Any = None  # of those
    rings: dict[Operation, Ring] = field(default_factory=dict)
    phases: dict[Operation, Phases] = field(default_factory=dict)
    maps: dict[Operation, Map] = field(default_factory=dict)
    engine: dict[Ring, Operation] = field(default_factory=dict)  # whose copies the engine does
    held: dict[Value, Held] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.groups, self.issued, self.complete = (np.zeros(self.programs, int) for _ in range(3))

    @property
    def programs(self) -> int:
        """How many program instances the batch has."""
        return int(np.prod(self.lead))

    def running(self, machine: GridMachine) -> Any:
        """The numbers in the batch of the programs that the machine runs at the moment."""
        z, y, x = (np.asarray(c) - o for c, o in zip(machine.coordinates, self.origin, strict=True))
        numbers = (z * self.lead[1] + y) * self.lead[2] + x
        return np.broadcast_to(numbers, machine.lead).reshape(-1)

    def barrier(self, programs: Any) -> None:
        """What has arrived can be read; what complete products read can be overwritten."""
        done = self.complete[programs, None]
        for ring in self.rings.values():
            state, reader = ring.state[programs], ring.reader[programs]
            ring.state[programs] = np.where(state == ARRIVED, READABLE, state)
            ring.reader[programs] = np.where(reader < done, NOBODY, reader)

    def require(self, holds: Any, programs: Any, operation: Operation, message: str) -> None:
        """Raises Hazard for the first program for which something does not hold."""
        wrong = np.flatnonzero(~np.broadcast_to(holds, np.shape(programs)))
        if len(wrong):
            raise self.hazard(int(programs[wrong[0]]), operation, message)

    def hazard(self, program: int, operation: Operation, message: str) -> Hazard:
        """The finding, with the operation's line."""
        z, y, x = (
            int(c) + o
            for c, o in zip(np.unravel_index(program, self.lead), self.origin, strict=True)
        )
        where = operation.location
        return Hazard(
            Finding(
                "async", Severity.ERROR, f"`{operation.name}` {message}",
                Span("", 0) if where is None else where.span, kernel=self.function.name,
                program=(x, y, z), callers=() if where is None else where.callers,
            )
        )  # fmt: skip

    def check(self, machine: GridMachine, operation: Operation, operands: Sequence[Any]) -> None:
        """Raises Hazard if an operation takes sums that are still in flight."""
        if operation.name not in MAY_HOLD and any(x is not None and x.flight for x in operands):
            first = int(self.running(machine)[0])
            raise self.hazard(first, operation, "uses sums that are still in flight")


def state_of(machine: GridMachine) -> tuple[Asynchronous, Any]:
    """What is under way, and the programs that run."""
    if machine.checks.judged:
        raise Suspicion
    state = machine.asynchronous
    assert state is not None, "the plan finds placed operations"
    return state, state.running(machine)


def scalar(machine: GridMachine, x: Lanes) -> Any:
    """A scalar of each program that runs."""
    return np.broadcast_to(x.data(), machine.lead).reshape(-1)


def ring_of(state: Asynchronous, operation: Operation, slots: Any, programs: Any) -> Ring:
    """The ring of an operation that names one of its slots."""
    made = operation.operands[0].producer
    assert made is not None and made.name == "ring", "the verifier has seen it"
    count = made.attributes["slots"]
    inside = (slots >= 0) & (slots < count)
    state.require(inside, programs, operation, f"names a slot that a ring of {count} has not")
    return state.rings[made]


def ring(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """Memory for a ring. Its lowering begins with a barrier."""
    state, now = state_of(machine)
    state.barrier(now)
    made = state.rings.get(operation)
    if made is None:
        told = operation.attributes
        made = Ring.of(state.programs, told["slots"], prod(told["shape"]), told["element"].numpy)
        state.rings[operation] = made
    idle = (made.state[now] != COPYING) & (made.reader[now] == NOBODY)
    state.require(idle.all(axis=1), now, operation, "takes memory that is still copied to or read")
    made.state[now] = EMPTY
    return [constant(0, ty.int32)]


def async_copy(
    machine: GridMachine, operation: Operation, operands: tuple[Any, ...]
) -> list[Lanes]:
    """Reads a block into a slot, where the condition holds; zeros where the mask is off."""
    state, now = state_of(machine)
    _, slot, active, pointer, mask = operands
    slots, on = scalar(machine, slot), scalar(machine, active).astype(bool)
    if not on.any():
        return []
    made = ring_of(state, operation, slots[on], now[on])
    at = free_slot(state, operation, made, now[on], slots[on])
    blocks = _block(machine, pointer, mask, on)
    made.data[at] = blocks[:, addresses(operation.attributes["layout"])]
    made.state[at], made.group[at] = COPYING, state.groups[now[on]]
    return []


def free_slot(
    state: Asynchronous, operation: Operation, made: Ring, programs: Any, slots: Any
) -> tuple[Any, Any]:
    """Where a copy goes. Raises Hazard if anybody uses the slot."""
    at = programs, slots
    message = "overwrites a slot that a product may still read"
    state.require(made.reader[at] == NOBODY, programs, operation, message)
    message = "overwrites a slot into which another copy is still under way"
    state.require(made.state[at] != COPYING, programs, operation, message)
    return at


@functools.cache
def addresses(layout: SharedLayout) -> Any:
    """The element at each address."""
    found = np.zeros(1, np.int64)
    for basis in layout.elements:
        found = np.concatenate([found, found ^ basis])
    return found


def _block(machine: GridMachine, pointer: Lanes, mask: Lanes | None, on: Any) -> Any:
    """The elements of the programs that are `on`, one program after another."""
    shape, flags = pointer.shape, None if mask is None else mask.data()
    if not on.all():
        active = on.reshape(machine.lead + (1,) * len(shape))
        flags = active if flags is None else active & flags
    return read(machine, pointer, flags, None).reshape(-1, prod(shape))[on]


def read(machine: GridMachine, pointer: Lanes, flags: Any, fill: Any) -> Any:
    """What pointers name, as lead + block; `fill` (None: zero) where the flags are off."""
    access = memory.touch(pointer, flags, machine.lead)
    memory.prove_inside(access)
    machine.turns.settle(access.storage)
    kind = pointer.type.scalar.element_ty.numpy  # type: ignore[attr-defined]
    data = memory.read(access, kind, fill, copy=True)
    return np.broadcast_to(data, machine.lead + pointer.shape)


def async_commit(
    machine: GridMachine, operation: Operation, operands: tuple[Any, ...]
) -> list[Lanes]:
    """The copies started so far are a group."""
    state, now = state_of(machine)
    state.groups[now] += 1
    return []


def async_wait(
    machine: GridMachine, operation: Operation, operands: tuple[Any, ...]
) -> list[Lanes]:
    """All groups but the last few are complete, for those who waited."""
    state, now = state_of(machine)
    complete = (state.groups[now] - operation.attributes["pending"])[:, None]
    for one in state.rings.values():
        if one in state.engine:
            continue
        before = one.state[now]
        arrived = (before == COPYING) & (one.group[now] < complete)
        one.state[now] = np.where(arrived, ARRIVED, before)
    return []


def slot(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """The block in a slot that every lane can read."""
    state, now = state_of(machine)
    slots = scalar(machine, operands[1])
    made = ring_of(state, operation, slots, now)
    _readable(state, operation, made, now, slots)
    (result,) = operation.results
    state.held[result] = Held(made, now, slots)
    block = np.empty((len(now), prod(result.type.shape)), result.type.scalar.numpy)
    block[:, addresses(result.layout)] = made.data[now, slots]
    return [of_array(block.reshape(machine.lead + result.type.shape), result.type)]


def _readable(
    state: Asynchronous, operation: Operation, made: Ring, programs: Any, slots: Any
) -> None:
    found = made.state[programs, slots]
    for bad, words in _UNREADABLE.items():
        state.require(found != bad, programs, operation, f"reads a slot {words}")


def dot(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """A product; where it is `in_flight` the sums are for a later `dot_wait` to complete."""
    attributes = {k: v for k, v in operation.attributes.items() if k != "in_flight"}
    results = machine.evaluate(operation, operands, attributes)
    if machine.asynchronous is None:
        return results
    state, now = state_of(machine)
    factors = operands[:2]
    if any(x.flight for x in factors):
        raise state.hazard(int(now[0]), operation, "multiplies sums that are still in flight")
    flies = bool(operation.attributes.get("in_flight"))
    if not flies and any(x.flight for x in operands[2:]):
        raise state.hazard(int(now[0]), operation, "adds to sums that are still in flight")
    for value in operation.operands[:2]:
        held = state.held.get(value)
        if held is not None:
            _readable(state, operation, held.ring, held.programs, held.slots)
            held.ring.reader[held.programs, held.slots] = state.issued[held.programs]
    numbers = np.full(state.programs, NOBODY)
    numbers[now] = state.issued[now]
    state.issued[now] += 1
    if flies:
        for result in results:
            result.flight = frozenset({Product(numbers)})
    else:
        state.complete[now] = state.issued[now]
    return results


def dot_wait(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """All products but the last few are complete; those whose sums are named must be."""
    state, now = state_of(machine)
    done = state.issued[now] - operation.attributes["pending"]
    state.complete[now] = np.maximum(state.complete[now], done)
    for x in operands:
        for product in x.flight:
            landed = product.numbers[now] < state.complete[now]
            state.require(landed, now, operation, "names sums that it leaves in flight")
    return [_landed(x) for x in operands]


def _landed(x: Lanes) -> Lanes:
    result = of_array(x.data(), x.type)
    result.undefined, result.marks = x.undefined, x.marks
    return result


def convert(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """The same block, held in another way; in shared memory, it has bytes of its own there. The
    lowering writes them between two barriers."""
    (result,) = operation.results
    if isinstance(result.layout, SharedLayout):
        state, now = state_of(machine)
        state.barrier(now)
        made = state.rings.get(operation)
        if made is None:
            made = state.rings[operation] = Ring.of(state.programs, 1, 0, np.bool_)
        free = made.reader[now, 0] == NOBODY
        state.require(free, now, operation, "overwrites a block that a product may still read")
        made.state[now] = ARRIVED
        state.barrier(now)
        state.held[result] = Held(made, now, np.zeros(len(now), int))
    return [operands[0]]


Handler = Callable[["GridMachine", Operation, tuple[Any, ...]], list[Lanes]]
HANDLERS: dict[str, Handler] = {
    "async_commit": async_commit,
    "async_copy": async_copy,
    "async_wait": async_wait,
    "convert": convert,
    "dot": dot,
    "dot_wait": dot_wait,
    "ring": ring,
    "slot": slot,
}

__all__ = [
    "COPYING",
    "HANDLERS",
    "READABLE",
    "Asynchronous",
    "Handler",
    "Hazard",
    "Phases",
    "Product",
    "addresses",
    "free_slot",
    "read",
    "ring_of",
    "scalar",
    "state_of",
]
