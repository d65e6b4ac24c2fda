"""Operations of the grid machine that have no meaning: memory, coordinates, promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp import atomics
from blockstep.interp.control import breaks_hint
from blockstep.interp.grid import asynchronous, memory, taints
from blockstep.interp.grid.lanes import LEAD, Box, Lanes, carry, of_array
from blockstep.interp.grid.lanes import constant as constant_lanes
from blockstep.interp.grid.memory import Suspicion, Touch
from blockstep.ir import Operation
from blockstep.language import types as ty

if TYPE_CHECKING:
    from blockstep.interp.grid.machine import GridMachine


def _touch(machine: GridMachine, pointer: Lanes, mask: Lanes | None) -> Touch:
    for x in (pointer, mask):
        if x is not None and (x.undefined or x.taints):
            raise Suspicion
    box = mask.box if mask is not None else None
    found = memory.touch(pointer, None if box else _mask(machine, mask), machine.lead, box)
    memory.prove_inside(found)
    if machine.checks.grid:
        _count(machine, found)
    return found


def _mask(machine: GridMachine, mask: Lanes | None) -> Any:
    if mask is None:
        return None
    array = mask.data()
    if array.size <= 4096 or mask.limits is None:
        if array.all():
            return None
    return array


def _count(machine: GridMachine, access: Touch) -> None:
    machine.accessed = True
    if 0 in access.block:
        return
    if access.mask is None:
        machine.touched[...] = True
    else:
        axes = tuple(range(LEAD, access.mask.ndim))
        machine.touched |= np.broadcast_to(access.mask.any(axis=axes), machine.lead)


def _first(machine: GridMachine, access: Touch) -> int | None:
    """The first program instance with an active lane, as a linear id."""
    if 0 in access.block:
        return None
    z, y, x = machine.coordinates
    ids = np.broadcast_to((z * machine.grid[1] + y) * machine.grid[0] + x, machine.lead)
    if access.mask is not None:
        axes = tuple(range(LEAD, access.mask.ndim))
        ids = ids[np.broadcast_to(access.mask.any(axis=axes), machine.lead)]
    return int(ids.min()) if ids.size else None


def _note_store(machine: GridMachine, access: Touch, operation: Operation) -> None:
    """Where memory that nobody filled was first stored to, in the order of instances."""
    first = _first(machine, access)
    known = machine.stores.get(id(access.view))
    if first is not None and (known is None or first < known[0]):
        machine.stores[id(access.view)] = (
            first, access.storage, access.view, operation.location
        )  # fmt: skip


def load(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """Reads a batch of blocks."""
    pointer, mask, other = operands
    kind = operation.results[0].type
    access = _touch(machine, pointer, mask)
    written = id(access.storage) in machine.written
    _judge_read(machine, access)
    if machine.checks.judged and written and 0 not in access.block:
        machine.log.read(operation, access, machine.coordinates, machine.grid)
    fill = None if other is None else other.data()
    box = mask.box if mask is not None else None
    if box is not None and access.block != kind.shape:
        data = _framed(access, kind, fill, box)
    else:
        data = memory.read(access, kind.scalar.numpy, fill, copy=written)
    result = of_array(data, kind)
    if (access.mask is not None or box is not None) and mask is not None:
        if other is not None:
            carry(result, other)
        elif "poison" in machine.checks.marks:
            result.undefined = frozenset({mask})
    if kind.scalar.is_ptr():
        result.origin = None
    return [result]


def _judge_read(machine: GridMachine, access: Touch) -> None:
    """Of memory that was not all written before the launch."""
    checks = machine.checks
    if 0 in access.block or not checks.flags or access.storage.written is None:
        return
    if checks.grid and _first(machine, access) is not None:
        machine.reads[id(access.storage)] = access.storage
    if checks.uninit:
        memory.prove_initialised(access)


def store(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """Writes a batch of blocks."""
    pointer, value, mask = operands
    access = _touch(machine, pointer, mask)
    if not access.view.writeable:
        raise Suspicion
    if 0 in access.block:
        return []
    taints.stored(value, mask)
    counted = machine.log.write(operation, access, machine.coordinates, machine.grid)
    dtype = pointer.type.scalar.element_ty.numpy
    data = value.data()
    if mask is not None and mask.box is not None:
        data = memory.part(data, mask.box)
    if machine.checks.precise and value.type.scalar.is_floating():
        memory.prove_numbers(access, data)
    memory.write(access, data, dtype)
    _judge_write(machine, access, operation)
    if machine.checks.overlap and not counted and not machine.log.injective(access):
        memory.prove_stored(access, data, dtype)
    return []


def _judge_write(machine: GridMachine, access: Touch, operation: Operation) -> None:
    """To memory that was not all written before the launch."""
    checks = machine.checks
    if 0 in access.block or not checks.flags or access.storage.written is None:
        return
    if checks.grid:
        _note_store(machine, access, operation)
    memory.mark_written(access)


def atomic(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """The one atomic of a kernel: programs act in the order of their ids, lanes in theirs."""
    pointer, value, mask = operands
    access = _touch(machine, pointer, mask)
    if not access.view.writeable:
        raise Suspicion
    taints.stored(value, mask)
    _judge_read(machine, access)
    _judge_write(machine, access, operation)
    if machine.checks.judged:
        machine.log.atomic(operation, access, machine.coordinates, machine.grid)
    if mask is not None and mask.box is not None:
        raise Suspicion
    dtype = pointer.type.scalar.element_ty.numpy
    shape = machine.lead + access.block
    index = np.broadcast_to(access.elements(), shape)
    values = np.broadcast_to(value.data(), shape)
    found = access.storage.typed(dtype, 0)
    combine = operation.attributes["combine"]
    used = bool(operation.results[0].uses)
    if access.mask is None:
        old = _combined(found, index.reshape(-1), values.reshape(-1), combine, used)
        data = old.reshape(shape)
    else:
        on = np.broadcast_to(access.mask, shape)
        data = np.zeros(shape, dtype)
        data[on] = _combined(found, index[on], values[on], combine, used)
    if machine.checks.precise and value.type.scalar.is_floating():
        memory.prove_numbers(access, found.take(index, mode="clip"))
    result = of_array(data, operation.results[0].type)
    if access.mask is not None and mask is not None and "poison" in machine.checks.marks:
        result.undefined = frozenset({mask})
    return [result]


def program_id(
    machine: GridMachine, operation: Operation, operands: tuple[Any, ...]
) -> list[Lanes]:
    """The coordinates of the batch along an axis."""
    axis = LEAD - 1 - operation.attributes["axis"]
    value = Lanes(ty.int32)
    value.const = machine.coordinates[axis]
    return [value]


def num_programs(
    machine: GridMachine, operation: Operation, operands: tuple[Any, ...]
) -> list[Lanes]:
    """The length of an axis of the grid."""
    return [constant_lanes(machine.grid[operation.attributes["axis"]], ty.int32)]


def arange(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """A range is affine."""
    value = Lanes(operation.results[0].type)
    start, end = operation.attributes["start"], operation.attributes["end"]
    value.const, value.strides = start, (1 if end - start > 1 else 0,)
    return [value]


def constant(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """A constant."""
    return [constant_lanes(operation.attributes["value"], operation.results[0].type)]


def check(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """An assertion that holds; one that fails is the step machine's to report."""
    condition, mask = operands
    machine.decide(condition)
    held = condition.data()
    if mask is not None:
        held = held | ~mask.data()
    if not held.all():
        raise Suspicion
    return []


def assume(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """A promise: believed if it holds."""
    if machine.checks.hint and not operands[0].data().all():
        raise Suspicion
    return []


def hint(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """A promise on values, judged from their elements."""
    (x,) = operands
    if machine.checks.hint:
        size = x.type.scalar.element_ty.itemsize if x.type.scalar.is_ptr() else 1
        attributes = operation.attributes
        if breaks_hint(x.full(), attributes["hint"], attributes["values"], size, LEAD):
            raise Suspicion
    return [x]


def barrier(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """A barrier orders what is in order here anyway, but for what is asynchronous."""
    machine.log.barrier()
    if machine.asynchronous is not None:
        machine.asynchronous.barrier(machine.asynchronous.running(machine))
    return []


def nothing(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """Dependent launches: here one launch ends before the next begins."""
    machine.log.barrier()
    return []


def _framed(access: Touch, kind: ty.dtype, fill: Any, box: Box) -> Any:
    """A block of which only a rectangle is read; the rest is the fill value."""
    dtype = kind.scalar.numpy
    lead = (1,) * LEAD
    inner = None
    if 0 not in access.block:
        inner = memory.read(access, dtype, None, copy=False)
        lead = inner.shape[:LEAD]
    if fill is not None:
        lead = np.broadcast_shapes(lead, fill.shape[:LEAD])
    data = np.empty(lead + kind.shape, dtype)
    data[...] = 0 if fill is None else fill
    if inner is not None:
        memory.part(data, box)[...] = inner
    return data


def _combined(found: Any, index: Any, values: Any, combine: str, used: bool) -> Any:
    if not used and combine == "add" and found.dtype.kind in "iu":
        np.add.at(found, index.astype(np.intp, copy=False), values)
        return np.zeros(index.shape, found.dtype)
    return atomics.read_modify_write(found, index, values, combine)


HANDLERS: dict[str, Callable[[GridMachine, Operation, tuple[Any, ...]], list[Lanes]]] = {
    "load": load,
    "store": store,
    "atomic_rmw": atomic,
    "program_id": program_id,
    "num_programs": num_programs,
    "arange": arange,
    "constant": constant,
    "assert": check,
    "assume": assume,
    "hint": hint,
    "barrier": barrier,
    "gdc_wait": nothing,
    "gdc_launch_dependents": nothing,
    **asynchronous.HANDLERS,
}
