"""Operations of the grid machine that have no meaning: memory, coordinates, promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp import atomics, tf32
from blockstep.interp.control import breaks_hint
from blockstep.interp.grid import asynchronous, engine, memory, taints
from blockstep.interp.grid.lanes import LEAD, Box, Lanes, of_array
from blockstep.interp.grid.lanes import constant as constant_lanes
from blockstep.interp.grid.memory import Suspicion, Touch
from blockstep.interp.grid.turns import Act, in_turns
from blockstep.ir import Operation
from blockstep.language import types as ty

if TYPE_CHECKING:
    from blockstep.interp.grid.machine import GridMachine


def _touch(machine: GridMachine, pointer: Lanes, mask: Lanes | None, kind: str = "read") -> Touch:
    if mask is not None and taints.decides(mask):
        raise Suspicion
    if taints.questionable(pointer):
        if taints.decides(pointer, None if mask is None else mask.data()):
            raise Suspicion
    box = mask.box if mask is not None else None
    found = memory.touch(pointer, None if box else _mask(machine, mask), machine.lead, box)
    memory.prove_inside(found)
    if machine.heard is not None:
        found.coordinates = machine.coordinates
        machine.heard(kind, found)
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
    machine.turns.settle(access.storage)
    written = id(access.storage) in machine.written
    unread = _judge_read(machine, access)
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
            _keep_marks(result, other, mask)
        elif "poison" in machine.checks.marks:
            result.undefined = frozenset({mask})
    if unread is not None:
        taints.add(result, "unread", _spread(unread, kind, access, box))
    if kind.scalar.is_ptr():
        result.origin = None
    return [result]


def _judge_read(machine: GridMachine, access: Touch) -> Any:
    """The lanes that read a byte which nothing has written; None for none."""
    checks = machine.checks
    if 0 in access.block or not checks.flags or access.storage.written is None:
        return None
    if checks.grid and _first(machine, access) is not None:
        machine.reads[id(access.storage)] = access.storage
    return memory.unwritten(access) if checks.uninit else None


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


def store(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """Writes a batch of blocks."""
    pointer, value, mask = operands
    access = _touch(machine, pointer, mask, "write")
    if not access.view.writeable:
        raise Suspicion
    if 0 in access.block:
        return []
    machine.turns.settle(access.storage)
    taints.stored(value, mask)
    dtype = pointer.type.scalar.element_ty.numpy
    data = value.data().astype(dtype, copy=False)
    if mask is not None and mask.box is not None:
        data = memory.part(data, mask.box)
    counted = machine.log.write(operation, access, machine.coordinates, machine.grid, data)
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
    """Reads, combines and writes: program instances in the order of their ids, lanes in theirs."""
    pointer, value, mask = operands
    combine = operation.attributes["combine"]
    used = bool(operation.results[0].uses)

    def act(found: Any, index: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
        (new,) = values
        old = _combined(found, index, new, combine, used)
        return old, lambda: atomics.COMBINE[combine](old, new)

    return _act(machine, operation, pointer, (value,), mask, act)


def tensor_reduce(
    machine: GridMachine, operation: Operation, operands: tuple[Any, ...]
) -> list[Lanes]:
    """The same, of a block with a box of an array."""
    state, _ = asynchronous.state_of(machine)
    _, value, *offsets = operands
    pointer, inside = engine.box(machine, state, operation.operands[0], offsets)
    mask = of_array(inside, ty.block_type(ty.int1, pointer.shape))
    return atomic(machine, operation, (pointer, value, mask))


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
    access = _touch(machine, pointer, mask, "atomic")
    if not access.view.writeable:
        raise Suspicion
    kind, box = operation.results[0].type, mask.box if mask is not None else None
    dtype, shape = kind.scalar.numpy, machine.lead + access.block
    for value in values:
        taints.stored(value, mask)
    _judge_atomic(machine, operation, access)
    index = np.broadcast_to(access.elements(), shape)
    on = slice(None) if access.mask is None else np.broadcast_to(access.mask, shape).reshape(-1)
    index = index.reshape(-1)[on]
    parts = [value.data() if box is None else memory.part(value.data(), box) for value in values]
    given = tuple([np.broadcast_to(p, shape).reshape(-1)[on] for p in parts])
    if machine.checks.precise and kind.scalar.is_floating():
        act = _leaving_numbers(act)
    if machine.plan.in_turns or machine.seeded:
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
        if "poison" in machine.checks.marks:
            result.undefined = frozenset({mask})
    return [result]


def _judge_atomic(machine: GridMachine, operation: Operation, access: Touch) -> None:
    if _judge_read(machine, access) is not None:
        raise Suspicion
    _judge_write(machine, access, operation)
    if machine.checks.judged and 0 not in access.block:
        machine.log.atomic(operation, access, machine.coordinates, machine.grid)


def _leaving_numbers(act: Act) -> Act:
    """An atomic that raises Suspicion where it leaves NaN."""

    def acted(found: Any, index: Any, values: tuple[Any, ...]) -> tuple[Any, Any]:
        old, new = act(found, index, values)
        if np.isnan(new()).any():
            raise Suspicion
        return old, new

    return acted


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


def product(machine: GridMachine, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
    """A matrix product. That it reads float32 as tf32 by default is the step machine's to report."""
    if machine.checks.precise and operation.location is not None:
        kind, span = operands[0].type.scalar, operation.location.span
        if tf32.may_lose("dot", kind, operation.attributes, span):
            if tf32.losing([x.data() for x in operands[:2]]) is not None:
                raise Suspicion
    return asynchronous.dot(machine, operation, operands)


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
    "barrier": barrier,
    "gdc_wait": nothing,
    "gdc_launch_dependents": nothing,
    **asynchronous.HANDLERS,
    **engine.HANDLERS,
    "dot": product,
    "tensor_reduce": tensor_reduce,
}
