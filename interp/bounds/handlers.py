"""Operations of the bounding machine that have no meaning: memory, coordinates, promises.

Values of lanes that a mask turns off are zero without `other`, as on the step machine. A load through
an address or a mask in doubt gives anything; a store through one may have written anywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.interp import atomics
from blockstep.interp.bounds import memory as mem
from blockstep.interp.bounds.machine import BoundMachine, Handler
from blockstep.interp.bounds.ranges import (
    ORDERED,
    UNDECIDED,
    Ranged,
    anything,
    flags_of,
    tidied,
)
from blockstep.ir import Operation
from blockstep.language import types as ty


def _lanes(
    machine: BoundMachine, pointer: Ranged, mask: Ranged | None, *more: Ranged | None
) -> Any:
    """Shape over the batch, the active lanes' addresses and programs, and a way to flatten."""
    doubt = flags_of(*[x for x in (pointer, mask) if x is not None])
    machine.reach_in_doubt |= doubt is not None and bool(np.any(doubt))
    given = [x for x in (pointer, mask, *more) if x is not None]
    rank = max(np.ndim(x.value) for x in given)
    lead = np.broadcast_shapes(machine.programs.shape, *[np.shape(x.value)[:1] for x in given])
    shape = lead + np.broadcast_shapes(*[np.shape(x.value)[1:] for x in given])
    on = (
        np.ones(shape, bool)
        if mask is None
        else np.broadcast_to(np.asarray(mask.value, bool), shape)
    )
    programs = np.broadcast_to(machine.programs.reshape((-1,) + (1,) * (rank - 1)), shape)[on]
    return shape, on, np.broadcast_to(pointer.value, shape)[on], programs


def load(machine: BoundMachine, operation: Operation, operands: list[Any]) -> list[Ranged]:
    pointer, mask, other = operands
    kind = operation.results[0].type.scalar
    shape, on, addresses, programs = _lanes(machine, pointer, mask, other)
    value = np.zeros(shape, kind.numpy)
    filled = Ranged(value, kind)
    if other is not None:
        value[...] = other.value
        filled = Ranged(value, kind, other.low, other.high, other.flags)
    made = filled
    for cell, chosen, index in machine.memory.spans(addresses, kind.itemsize):
        made = _laid(made, _some(on, chosen), mem.read(cell, index, kind, programs[chosen]))
    doubt = flags_of(*[x for x in (pointer, mask) if x is not None])
    if doubt is not None:
        flags = doubt if made.flags is None else made.flags | doubt
        open_ = anything(made.value, kind, doubt)
        if kind.is_floating():
            low, high = np.minimum(open_.lows, made.lows), np.maximum(open_.highs, made.highs)
            return [Ranged(made.value, kind, low, high, np.broadcast_to(flags, shape))]
        return [tidied(made.value, kind, None, None, flags)]
    return [made]


def store(machine: BoundMachine, operation: Operation, operands: list[Any]) -> list[Ranged]:
    pointer, value, mask = operands
    kind = pointer.kind.element_ty
    shape, on, addresses, programs = _lanes(machine, pointer, mask, value)
    for cell, chosen, index in machine.memory.spans(addresses, kind.itemsize):
        given = _active(value, kind, shape, _some(on, chosen))
        mem.write(cell, index, given, programs[chosen])
    if mask is not None and mask.flags is not None:
        doubtful = np.broadcast_to(mask.flags != 0, shape)
        addresses = np.broadcast_to(pointer.value, shape)[doubtful]
        flags = np.broadcast_to(mask.flags, shape)[doubtful]
        for cell, chosen, index in machine.memory.spans(addresses, kind.itemsize):
            mem.mark(cell, index, kind.itemsize, flags[chosen])
    machine.lost(operation, pointer.flags)
    return []


def atomic_store(machine: BoundMachine, operation: Operation, operands: list[Any]) -> list[Ranged]:
    """The last one decides."""
    store(machine, operation, operands)
    pointer, value, mask = operands
    kind = pointer.kind.element_ty
    _, _, addresses, _ = _lanes(machine, pointer, mask, value)
    for cell, _, index in machine.memory.spans(addresses, kind.itemsize):
        if not machine.is_alone:
            mem.mark(cell, index, kind.itemsize, ORDERED)
    return []


def atomic(machine: BoundMachine, operation: Operation, operands: list[Any]) -> list[Ranged]:
    """Reads, combines and writes; the old values depend on the order of instances."""
    pointer, value, mask = operands
    combine, kind = operation.attributes["combine"], operation.results[0].type.scalar
    shape, on, addresses, programs = _lanes(machine, pointer, mask, value)
    old = np.zeros(shape, kind.numpy)
    doubt = flags_of(*[x for x in (pointer, mask) if x is not None])
    before = Ranged(old, kind)
    for cell, chosen, index in machine.memory.spans(addresses, kind.itemsize):
        lanes = _some(on, chosen)
        before = _laid(before, lanes, mem.read(cell, index, kind, programs[chosen]))
        old[lanes] = mem.update(cell, index, _active(value, kind, shape, lanes), combine)
        mem.note_writer(cell, index, kind.itemsize, programs[chosen])
    machine.lost(operation, doubt)
    if machine.is_alone and doubt is None and len(np.unique(addresses)) == len(addresses):
        return [before]
    flags = np.where(on, ORDERED, 0).astype(np.uint8)
    return [anything(old, kind, flags if doubt is None else flags | doubt)]


def swap(machine: BoundMachine, operation: Operation, operands: list[Any]) -> list[Ranged]:
    """Compares and swaps: who comes first decides."""
    pointer, expected, value = operands
    kind = operation.results[0].type.scalar
    shape, on, addresses, programs = _lanes(machine, pointer, None, expected, value)
    old = np.zeros(shape, kind.numpy)
    given = [np.broadcast_to(x.value, shape)[on] for x in (expected, value)]
    for cell, chosen, index in machine.memory.spans(addresses, kind.itemsize):
        memory, parts = cell.typed(kind.numpy), [g[chosen] for g in given]
        old[_some(on, chosen)] = atomics.compare_and_swap(memory, index, *parts)[0]
        mem.note_writer(cell, index, kind.itemsize, programs[chosen])
        mem.mark(cell, index, kind.itemsize, ORDERED)
    machine.lost(operation, pointer.flags)
    return [anything(old, kind, np.uint8(ORDERED))]


def atomic_load(machine: BoundMachine, operation: Operation, operands: list[Any]) -> list[Ranged]:
    """What it finds depends on the order of instances."""
    pointer, mask = operands
    (made,) = load(machine, operation, [pointer, mask, None])
    return [anything(made.value, made.kind, np.uint8(ORDERED))]


def program_id(machine: BoundMachine, operation: Operation, operands: list[Any]) -> list[Ranged]:
    x, y, _ = machine.grid
    ids = (machine.programs % x, machine.programs // x % y, machine.programs // (x * y))
    return [Ranged(ids[operation.attributes["axis"]].astype(np.int32), ty.int32)]


def num_programs(machine: BoundMachine, operation: Operation, operands: list[Any]) -> list[Ranged]:
    return [Ranged(np.array([machine.grid[operation.attributes["axis"]]], np.int32), ty.int32)]


def hint(machine: BoundMachine, operation: Operation, operands: list[Any]) -> list[Ranged]:
    return [operands[0]]


def nothing(machine: BoundMachine, operation: Operation, operands: list[Any]) -> list[Ranged]:
    return []


def clock(machine: BoundMachine, operation: Operation, operands: list[Any]) -> list[Ranged]:
    return [anything(np.zeros(1, np.int64), ty.int64, np.uint8(UNDECIDED))]


def _some(on: Any, chosen: Any) -> Any:
    """Lanes that are on, of those the chosen ones."""
    found = np.zeros(on.shape, bool)
    found[on] = chosen
    return found


def _laid(filled: Ranged, on: Any, found: Ranged) -> Ranged:
    """Elements that were read, where lanes are on, in a block of others."""
    value = np.array(np.broadcast_to(filled.value, on.shape))
    value[on] = found.value
    made = Ranged(value, filled.kind)
    if found.low is not None or filled.low is not None:
        made.low = np.array(np.broadcast_to(filled.lows, on.shape))
        made.high = np.array(np.broadcast_to(filled.highs, on.shape))
        made.low[on], made.high[on] = found.lows, found.highs
    if found.flags is not None or filled.flags is not None:
        flags = np.uint8(0) if filled.flags is None else filled.flags
        made.flags = np.array(np.broadcast_to(flags, on.shape))
        made.flags[on] = 0 if found.flags is None else found.flags
    return made


def _active(x: Ranged, kind: ty.dtype, shape: Any, on: Any) -> Ranged:
    """What lanes that are on hold."""

    def flat(array: Any) -> Any:
        return None if array is None else np.broadcast_to(array, shape)[on]

    value = np.broadcast_to(np.asarray(x.value), shape)[on].astype(kind.numpy, copy=False)
    return Ranged(value, kind, flat(x.low), flat(x.high), flat(x.flags))


HANDLERS: dict[str, Handler] = {
    "load": load,
    "store": store,
    "atomic_rmw": atomic,
    "atomic_cas": swap,
    "atomic_load": atomic_load,
    "atomic_store": atomic_store,
    "program_id": program_id,
    "num_programs": num_programs,
    "hint": hint,
    "globaltimer": clock,
    **dict.fromkeys(
        ("barrier", "assert", "assume", "print", "gdc_wait", "gdc_launch_dependents"),
        nothing,
    ),
}
