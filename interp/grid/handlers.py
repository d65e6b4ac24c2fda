"""Operations of the grid machine that have no meaning: memory, coordinates, promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp import atomics
from blockstep.interp.control import breaks_hint
from blockstep.interp.grid import memory, taints
from blockstep.interp.grid.lanes import LEAD, Box, Lanes, of_array
from blockstep.interp.grid.lanes import constant as constant_lanes
from blockstep.interp.grid.memory import Suspicion, Touch
from blockstep.interp.grid.turns import Act, in_turns
from blockstep.interp.memory import View
from blockstep.ir import Operation
from blockstep.language import types as ty

if TYPE_CHECKING:
    from blockstep.interp.grid.machine import GridMachine


def _touch(machine: GridMachine, pointer: Lanes, mask: Lanes | None) -> Touch:
    if machine.judged:
        if mask is not None and taints.decides(mask):
            raise Suspicion
        if pointer.undefined or pointer.marks:
            if taints.decides(pointer, None if mask is None else mask.data()):
                raise Suspicion
    box = mask.box if mask is not None else None
    found = memory.touch(pointer, None if box else _mask(machine, mask), machine.lead, box)
    memory.prove_inside(found)
    if machine.judged:
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
    machine.turns.settle(access.storage)
    written = _is_written(machine, access.view)
    unread = None
    if machine.judged:
        if access.storage.written is not None:
            if _first(machine, access) is not None:
                machine.reads[id(access.storage)] = access.storage
            unread = _unread(access)
        if written and 0 not in access.block:
            machine.log.read(operation, access, machine.coordinates, machine.grid)
    fill = None if other is None else other.data()
    box = mask.box if mask is not None else None
    if box is not None and access.block != kind.shape:
        data = _framed(access, kind, fill, box)
    else:
        data = memory.read(access, kind.scalar.numpy, fill, copy=written)
    result = of_array(data, kind)
    if (access.mask is not None or box is not None) and mask is not None:
        if other is None:
            result.undefined = frozenset({mask})
        elif machine.judged:
            _keep_marks(result, other, mask)
    if unread is not None:
        taints.add(result, "unread", _spread(unread, kind, access, box))
    if kind.scalar.is_ptr():
        result.origin = None
    return [result]


def _keep_marks(result: Lanes, other: Lanes, mask: Lanes) -> None:
    """A fill value keeps its marks where it fills."""
    for name, lanes in taints.marked(other).items():
        filled = lanes & ~mask.data()
        if filled.any():
            taints.add(result, name, filled)


def _spread(lanes: Any, kind: ty.dtype, access: Touch, box: Box | None) -> Any:
    """Elements of an access, as elements of the block of which it is a rectangle."""
    if box is None or access.block == kind.shape:
        return lanes
    whole = np.zeros(lanes.shape[:LEAD] + kind.shape, bool)
    memory.part(whole, box)[...] = lanes
    return whole


def _is_written(machine: GridMachine, view: View) -> bool:
    return id(view.storage) in machine.storages(machine.plan.written)


def _unread(access: Touch) -> Any:
    """The lanes that read a byte which nothing has written; None for none."""
    flags = access.storage.written
    if flags is None or 0 in access.block:
        return None
    addresses = access.dense() - access.storage.base
    known = flags.take(np.clip(addresses, 0, flags.size - 1))
    for byte in range(1, access.itemsize):
        known &= flags.take(np.clip(addresses + byte, 0, flags.size - 1))
    if access.mask is not None:
        known = known | ~access.mask
    return None if known.all() else ~known


def store(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """Writes a batch of blocks."""
    pointer, value, mask = operands
    access = _touch(machine, pointer, mask)
    if not access.view.writeable:
        raise Suspicion
    if 0 in access.block:
        return []
    machine.turns.settle(access.storage)
    if machine.judged:
        taints.stored(value, mask)
    dtype = pointer.type.scalar.element_ty.numpy
    data = value.data().astype(dtype, copy=False)
    if mask is not None and mask.box is not None:
        data = memory.part(data, mask.box)
    if machine.judged:
        machine.log.write(operation, access, machine.coordinates, machine.grid, data)
    memory.write(access, data, dtype)
    if machine.judged:
        if access.storage.written is not None:
            _note_store(machine, access, operation)
            _mark_written(machine, access)
        if not machine.log.injective(access):
            _prove_no_overlap(access, data)
    return []


def _mark_written(machine: GridMachine, access: Touch) -> None:
    flags = access.storage.written
    assert flags is not None
    shape = access.lead + access.block
    addresses = np.broadcast_to(access.dense() - access.storage.base, shape)
    if access.mask is not None:
        addresses = addresses[np.broadcast_to(access.mask, shape)]
    low, high = (int(addresses.min()), int(addresses.max())) if addresses.size else (0, -1)
    if high - low + access.itemsize == addresses.size * access.itemsize:
        flags[low : high + access.itemsize] = True
        return
    for byte in range(access.itemsize):
        flags[addresses + byte] = True


def _prove_no_overlap(access: Touch, data: Any) -> None:
    """Lanes that share an element must have stored the same bits: read them back."""
    same = memory.holds(access, data)
    if access.mask is not None:
        same = same | ~np.broadcast_to(access.mask, same.shape)
    if not same.all():
        raise Suspicion


def atomic(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """Reads, combines and writes: program instances in the order of their ids, lanes in theirs."""
    pointer, value, mask = operands
    combine = operation.attributes["combine"]
    used = bool(operation.results[0].uses)

    def act(found: Any, index: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
        (new,) = values
        old = _combined(found, index, new, combine, used)
        return old, lambda: atomics.COMBINE[combine](old, new)

    return _act(machine, operation, pointer, (value,), mask, act)


def swap(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """Compares and swaps, in the same order."""
    pointer, expected, value = operands

    def act(found: Any, index: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
        old, swapped = atomics.compare_and_swap(found, index, *values)
        return old, lambda: np.where(swapped, values[1], old)

    return _act(machine, operation, pointer, (expected, value), None, act)


def _act(
    machine: GridMachine, operation: Operation, pointer: Lanes, values: tuple[Lanes, ...],
    mask: Lanes | None, act: Act,
) -> list[Lanes]:  # fmt: skip
    """An atomic: `act(memory, index, values)` gives the old elements, and a way to the new ones."""
    access = _touch(machine, pointer, mask)
    if not access.view.writeable:
        raise Suspicion
    kind, box = operation.results[0].type, mask.box if mask is not None else None
    dtype, shape = kind.scalar.numpy, machine.lead + access.block
    if machine.judged:
        for value in values:
            taints.stored(value, mask)
        _note_atomic(machine, operation, access)
    index = np.broadcast_to(access.dense() - access.storage.base, shape) // dtype.itemsize
    on = slice(None) if access.mask is None else np.broadcast_to(access.mask, shape).reshape(-1)
    index = index.reshape(-1)[on]
    parts = [value.data() if box is None else memory.part(value.data(), box) for value in values]
    given = tuple([np.broadcast_to(p, shape).reshape(-1)[on] for p in parts])
    if machine.plan.in_turns or machine.turns.seeded:
        old = in_turns(machine, operation, access, index, on, given, act)
    else:
        old, _ = act(access.storage.typed(dtype, 0), index, given)
    data = old.reshape(shape) if access.mask is None else np.zeros(shape, dtype)
    if access.mask is not None:
        data.reshape(-1)[on] = old
    if access.block != kind.shape:
        data, inner = np.zeros(machine.lead + kind.shape, dtype), data
        memory.part(data, box or ())[...] = inner
    result = of_array(data, kind)
    if (access.mask is not None or box is not None) and mask is not None:
        result.undefined = frozenset({mask})
    return [result]


def _note_atomic(machine: GridMachine, operation: Operation, access: Touch) -> None:
    if 0 in access.block:
        return
    machine.log.atomic(operation, access, machine.coordinates, machine.grid)
    if access.storage.written is not None:
        if _first(machine, access) is not None:
            machine.reads[id(access.storage)] = access.storage
        _note_store(machine, access, operation)
        if _unread(access) is not None:
            raise Suspicion


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
    if machine.judged and not operands[0].data().all():
        raise Suspicion
    return []


def hint(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """A promise on values, judged from their elements."""
    (x,) = operands
    if machine.judged:
        size = x.type.scalar.element_ty.itemsize if x.type.scalar.is_ptr() else 1
        attributes = operation.attributes
        if breaks_hint(x.full(), attributes["hint"], attributes["values"], size, LEAD):
            raise Suspicion
    return [x]


def nothing(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """A barrier orders what is in order here anyway."""
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
    "atomic_cas": swap,
    "program_id": program_id,
    "num_programs": num_programs,
    "arange": arange,
    "constant": constant,
    "assert": check,
    "assume": assume,
    "hint": hint,
    "barrier": nothing,
    "gdc_wait": nothing,
    "gdc_launch_dependents": nothing,
}
