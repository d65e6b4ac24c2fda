"""Atomics of the step machine: one access, one step of memory, and a word to the scheduler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.findings import Access, Mark, Site
from blockstep.interp import atomics, marks
from blockstep.interp.accesses import (
    STORED,
    active_lanes,
    check_operands,
    parts,
    refuse_read_only,
    shown,
)
from blockstep.interp.memory import View
from blockstep.language import types as ty
from blockstep.language.frames import user_site
from blockstep.language.op import Op
from blockstep.language.value import tensor

if TYPE_CHECKING:
    from blockstep.interp.step import StepMachine

Operands = tuple[Any, ...]
Attributes = dict[str, Any]


def act_on(
    machine: StepMachine,
    pointer: tensor,
    mask: tensor | None,
    values: tuple[tensor, ...],
    name: str,
    kind: Any,
    attributes: Attributes,
    act: Callable[[Any, Any, tuple[Any, ...]], tuple[Any, Any]],
) -> tensor:
    """One atomic on a block: `act(memory, index, lane values)` gives the old values, and which
    lanes wrote (None: all of them)."""
    site = user_site()
    active = active_lanes(mask)
    origin = pointer.origin if isinstance(pointer.origin, View) else None
    if machine.judge is not None:
        check_operands(machine, pointer, mask, site, name, origin)
        for value in values:
            if value.marks is not None:
                machine.reach(
                    value, "atomic", site, active=active, op=name, view=origin, only=STORED
                )
    shape, dtype = np.shape(pointer.handle), kind.scalar.numpy
    addresses = np.atleast_1d(pointer.handle).reshape(-1)
    out = np.zeros(addresses.shape, dtype)
    for view, storage, lanes in parts(machine, pointer, active):
        refuse_read_only(view, storage, lanes)
        access = Access(
            name, view, storage, "atomic", dtype.itemsize, np.asarray(pointer.handle), lanes,
            machine.scheduler.program, site, np.asarray(values[-1].handle) if values else None,
            attributes["sem"], attributes["scope"],
        )  # fmt: skip
        allowed = shown(machine, access)
        if storage is None or not (allowed is None or np.any(allowed)):
            continue
        lanes_on = slice(None) if allowed is None else np.reshape(allowed, -1)
        phase = int(addresses[lanes_on][0] - storage.base) % dtype.itemsize
        memory = storage.typed(dtype, phase)
        index = (addresses[lanes_on] - storage.base - phase) // dtype.itemsize
        operands = tuple(np.reshape(v.handle, -1)[lanes_on] for v in values)
        before = memory[index]
        out[lanes_on], wrote = act(memory, index, operands)
        changed = before.tobytes() != memory[index].tobytes()
        for checker in machine.checkers:
            checker.atomic(
                access, out, memory[index], _spread_lanes(wrote, lanes_on, out.shape, shape)
            )
        _note_atomic(machine, site, changed, addresses, out, operands, name)
    result = tensor(out.reshape(shape) if shape else out[0], kind)
    if machine.judge is not None and mask is not None and active is not None and not np.all(active):
        program, argument = machine.scheduler.program, origin.name if origin else None
        marks.add(
            result,
            "poison",
            ~mask.handle,
            lambda: Mark("masked-load", site.span, program, op=name, argument=argument),
        )
    return result


def _spread_lanes(wrote: Any, lanes_on: Any, flat: Any, shape: Any) -> Any:
    """Which lanes of the block wrote, from which of the active ones did."""
    if wrote is None:
        return None
    out = np.zeros(flat, bool)
    out[lanes_on] = wrote
    return out.reshape(shape)


def _note_atomic(
    machine: StepMachine,
    site: Site,
    changed: bool,
    addresses: Any,
    old: Any,
    operands: tuple[Any, ...],
    name: str,
) -> None:
    if changed:
        machine.scheduler.changed()
        return
    pending = machine.pending
    seen = (addresses.tobytes(), old.tobytes(), *(v.tobytes() for v in operands))
    machine.scheduler.note_event(site.key, False, seen, name, int(addresses[0]))
    machine.pending = pending


def atomic_rmw(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> Any:
    pointer, value, mask = operands
    combine = attributes["combine"]

    def act(memory: Any, index: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
        return atomics.read_modify_write(memory, index, values[0], combine), None

    kind = op.rule(pointer.type)
    return act_on(machine, pointer, mask, (value,), f"atomic_{combine}", kind, attributes, act)


def atomic_cas(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> Any:
    pointer, expected, value = operands

    def act(memory: Any, index: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
        return atomics.compare_and_swap(memory, index, *values)

    kind = op.rule(pointer.type)
    return act_on(machine, pointer, None, (expected, value), "atomic_cas", kind, attributes, act)


def atomic_load(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> Any:
    pointer, mask = operands

    def act(memory: Any, index: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
        return memory[index], np.zeros(index.shape, bool)

    kind = op.rule(pointer.type)
    return act_on(machine, pointer, mask, (), "atomic_load", kind, attributes, act)


def atomic_store(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> None:
    pointer, value, mask = operands

    def act(memory: Any, index: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
        before = memory[index]
        memory[index] = values[0]
        return before, None

    kind = ty.blocked(value.type.scalar, pointer.type.shape)
    act_on(machine, pointer, mask, (value,), "atomic_store", kind, attributes, act)
