"""The copy engine of placed IR: boxes that are copied into slots, barriers that count their bytes, and
blocks that are written as boxes.

A copy arrives where a `phase_wait` waits for the phase of the slot's own barrier that counts its
bytes; every lane waits there, so the slot can be read at once. A wait for a phase that is over waits
for nothing, and one for a phase that nobody began would never end: a `Hazard`, like all that
`asynchronous` watches over.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp.grid import memory
from blockstep.interp.grid.asynchronous import (
    COPYING,
    READABLE,
    Asynchronous,
    Handler,
    Phases,
    addresses,
    free_slot,
    read,
    ring_of,
    scalar,
    state_of,
)
from blockstep.interp.grid.lanes import Lanes, constant, of_array
from blockstep.interp.grid.maps import Map
from blockstep.interp.grid.memory import Suspicion
from blockstep.ir import Operation, Value
from blockstep.language import types as ty

if TYPE_CHECKING:
    from blockstep.interp.grid.machine import GridMachine


def phases(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """Barriers for the slots of rings. Their lowering begins and ends with a barrier."""
    state, now = state_of(machine)
    state.barrier(now)
    made = state.phases.get(operation)
    if made is None:
        made = Phases.of(state.programs, operation.attributes["slots"])
        state.phases[operation] = made
    _over(state, operation, made, now)
    for array in (made.owed, made.begun, made.over):
        array[now] = 0
    return [constant(0, ty.int32)]


def _over(state: Asynchronous, operation: Operation, made: Phases, programs: Any) -> None:
    idle = (made.begun[programs] == made.over[programs]) & (made.owed[programs] == 0)
    message = "takes barriers on which copies that nobody waited for still count"
    state.require(idle.all(axis=1), programs, operation, message)


def _phases_of(state: Asynchronous, value: Value) -> Phases:
    made = value.producer
    assert made is not None, "the verifier has seen it"
    return state.phases[made]


def phases_end(
    machine: GridMachine, operation: Operation, operands: tuple[Any, ...]
) -> list[Lanes]:
    """The barriers are not used any more. Its lowering begins with a barrier."""
    state, now = state_of(machine)
    state.barrier(now)
    _over(state, operation, _phases_of(state, operation.operands[0]), now)
    return []


def tensor_copy(
    machine: GridMachine, operation: Operation, operands: tuple[Any, ...]
) -> list[Lanes]:
    """The engine copies a box, what lies outside of the array as the padding says."""
    state, now = state_of(machine)
    slots, on = scalar(machine, operands[2]), scalar(machine, operands[3]).astype(bool)
    if not on.any():
        return []
    told, counts = operation.attributes, _phases_of(state, operation.operands[1])
    made = ring_of(state, operation, slots[on], now[on])
    at = free_slot(state, operation, made, now[on], slots[on])
    pointer, inside = box(machine, state, operation.operands[4], operands[5:])
    active = on.reshape(machine.lead + (1,) * len(pointer.shape))
    fill = told["element"].numpy.type(np.nan if _told(operation)["padding"] == "nan" else 0)
    blocks = read(machine, pointer, inside & active, fill).reshape(-1, prod(told["shape"]))[on]
    made.data[at] = blocks[:, addresses(told["layout"])]
    made.state[at] = COPYING
    state.engine[made] = operation.operands[1].producer  # type: ignore[assignment]
    size = blocks.shape[1] * told["element"].itemsize
    counts.owed[at] += told["announced"] - size
    counts.begun[at] += counts.owed[at] == 0  # the announcement has arrived, and the bytes will
    return []


def _told(operation: Operation) -> dict[str, Any]:
    """What the map of a copy says of its boxes."""
    made = operation.operands[4].producer
    assert made is not None, "the verifier has seen it"
    return made.attributes


def tensor_map(
    machine: GridMachine, operation: Operation, operands: tuple[Any, ...]
) -> list[Lanes]:
    """What the engine is to know of an array, from here on."""
    state, now = state_of(machine)
    base, *parts = operands
    rank = len(operation.attributes["shape"])
    made = state.maps.get(operation)
    if made is None:
        made = state.maps[operation] = Map.of(state.programs, rank, base.origin)
    if made.origin is not base.origin:
        raise Suspicion  # an array of another memory than before: one at a time
    made.base[now] = scalar(machine, base)
    for axis in range(rank):
        made.lengths[now, axis] = scalar(machine, parts[axis])
        made.strides[now, axis] = scalar(machine, parts[rank + axis])
    return [constant(0, ty.int64)]


def box(
    machine: GridMachine, state: Asynchronous, value: Value, offsets: Sequence[Lanes]
) -> tuple[Lanes, Any]:
    """The pointers of a box in each program that runs, and which of its elements are inside."""
    made = value.producer
    assert made is not None, "the verifier has seen it"
    known, now = state.maps[made], state.running(machine)
    shape, element = made.attributes["shape"], made.attributes["element"]
    rank = len(shape)
    lead = machine.lead + (1,) * rank
    address, inside = known.base[now].reshape(lead), np.ones(lead, bool)
    for axis, offset in enumerate(offsets):
        along = np.arange(shape[axis], dtype=np.int64)
        along = along.reshape((1,) * axis + (-1,) + (1,) * (rank - axis - 1))
        at = scalar(machine, offset).astype(np.int64).reshape(lead) + along
        inside = inside & (at >= 0) & (at < known.lengths[now, axis].reshape(lead))
        address = address + at * (known.strides[now, axis] * element.itemsize).reshape(lead)
    pointer = of_array(address, ty.block_type(ty.pointer_type(element), shape))
    pointer.origin = known.origin
    return pointer, inside


def tensor_store(
    machine: GridMachine, operation: Operation, operands: tuple[Any, ...]
) -> list[Lanes]:
    """The engine writes a block, of which what lies outside of the array is dropped."""
    state, _ = state_of(machine)
    _, value, *offsets = operands
    pointer, inside = box(machine, state, operation.operands[0], offsets)
    access = memory.touch(pointer, inside, machine.lead)
    memory.prove_inside(access)
    if not access.view.writeable:
        raise Suspicion
    machine.turns.settle(access.storage)
    kind = pointer.type.scalar.element_ty.numpy  # type: ignore[attr-defined]
    memory.write(access, value.data().astype(kind, copy=False), kind)
    return []


def phase_wait(
    machine: GridMachine, operation: Operation, operands: tuple[Any, ...]
) -> list[Lanes]:
    """Waits for the end of the phase at hand, if it is the one that is named."""
    state, now = state_of(machine)
    _, slot, phase = operands
    slots, named = scalar(machine, slot), scalar(machine, phase)
    counts, made = _phases_of(state, operation.operands[0]), operation.operands[0].producer
    waits = counts.over[now, slots] % 2 == named
    at = now[waits], slots[waits]
    ends = counts.begun[at] > counts.over[at]
    state.require(ends, now[waits], operation, "waits for a phase that no copy ends")
    counts.over[at] += 1
    for one, engine in state.engine.items():
        if engine is made:
            before = one.state[at]
            one.state[at] = np.where(before == COPYING, READABLE, before)
    return []


HANDLERS: dict[str, Handler] = {
    "phase_wait": phase_wait,
    "phases": phases,
    "phases_end": phases_end,
    "tensor_copy": tensor_copy,
    "tensor_map": tensor_map,
    "tensor_store": tensor_store,
}

__all__ = ["HANDLERS", "box"]
