"""The copy engine of placed IR: boxes that are copied into slots, and barriers that count their bytes.

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
    blocks = _box(machine, told, operands[4:], on)
    made.data[at] = blocks[:, addresses(told["layout"])]
    made.state[at] = COPYING
    state.engine[made] = operation.operands[1].producer  # type: ignore[assignment]
    size = blocks.shape[1] * told["element"].itemsize
    counts.owed[at] += told["announced"] - size
    counts.begun[at] += counts.owed[at] == 0  # the announcement has arrived, and the bytes will
    return []


def _box(machine: GridMachine, told: Any, offsets: Sequence[Lanes], on: Any) -> Any:
    """The elements of a box in each program that is `on`."""
    name, shape, size = told["descriptor"], told["shape"], told["element"].itemsize
    view = machine.arguments[name]
    address, inside = np.asarray(int(view.base), np.int64), on.reshape(machine.lead + (1, 1))
    for axis, (offset, n) in enumerate(zip(offsets, shape, strict=True)):
        along = np.arange(n, dtype=np.int64).reshape((-1, 1) if axis == 0 else (1, -1))
        at = scalar(machine, offset).astype(np.int64).reshape(machine.lead + (1, 1)) + along
        inside = inside & (at >= 0) & (at < machine.arguments[f"{name}.shape{axis}"])
        address = address + at * (machine.arguments[f"{name}.stride{axis}"] * size)
    pointer = of_array(address, ty.block_type(ty.pointer_type(told["element"]), shape))
    pointer.origin = view
    fill = told["element"].numpy.type(np.nan if told["padding"] == "nan" else 0)
    return read(machine, pointer, inside, fill).reshape(-1, prod(shape))[on]


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
}

__all__ = ["HANDLERS"]
