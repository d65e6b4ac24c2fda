"""Runs block IR over one batch of program instances after another.

Every operation is one NumPy call for the whole batch. What the step machine would report is not
worked out here: where an access, a value or an order cannot be *proved* clean, `Suspicion` is raised,
memory is put back, and the step machine runs the launch and says what is wrong. So the findings are
the same by construction, and a clean launch costs what its arithmetic costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp import atomics
from blockstep.interp.grid import divergence, memory, taints
from blockstep.interp.grid.arena import arena
from blockstep.interp.grid.lanes import LEAD, Box, Lanes, Shape, carry, constant, of_array
from blockstep.interp.grid.memory import Suspicion, Touch
from blockstep.interp.grid.plan import Plan
from blockstep.interp.grid.races import Log
from blockstep.interp.grid.rules import RULES
from blockstep.interp.memory import Storage, View
from blockstep.ir import Function, Operation, Region, Value
from blockstep.language import types as ty
from blockstep.language.op import Family

Environment = dict[Value, Lanes]
BATCH_BYTES = 1 << 20  # of the widest block of a batch: it should stay in the cache
LEAST_PROGRAMS, MOST_PROGRAMS = 16, 4096
LEAST_SHARED = 4  # batches from which on two workers pay

PADS_BLOCK = frozenset({Family.ELEMENTWISE, Family.SELECT})


@dataclass(slots=True, eq=False)
class GridMachine:
    """One launch. `judged` says whether anything must be proved."""

    function: Function
    plan: Plan
    grid: tuple[int, int, int]
    arguments: dict[str, Any]  # by parameter name: a number, or the View of a pointer
    judged: bool
    log: Log = field(default_factory=Log)
    lead: Shape = (1, 1, 1)
    coordinates: tuple[Any, Any, Any] = (0, 0, 0)
    touched: Any = None
    accessed: bool = False  # whether any access was executed, if only with its mask off
    idle: int = 0
    examples: list[tuple[int, int, int]] = field(default_factory=list)
    stores: dict[int, Any] = field(default_factory=dict)  # first store to memory nobody filled
    reads: dict[int, Any] = field(default_factory=dict)  # such memory that was read

    def run(self) -> None:
        """Every program instance. Raises Suspicion where the step machine is needed."""
        boxes = list(batches(self.grid, self._programs_a_batch()))
        with arena():
            if self.plan.has_dot and not self.plan.has_atomics and len(boxes) >= LEAST_SHARED:
                self._shared(boxes)
            else:
                self._run(boxes)
            if self.judged:
                self.log.prove(self.grid)

    def _run(self, boxes: Sequence[tuple[Shape, Shape]]) -> None:
        with np.errstate(all="ignore"):
            for origin, lead in boxes:
                self._batch(origin, lead)

    def _shared(self, boxes: Sequence[tuple[Shape, Shape]]) -> None:
        """Two workers, half of the batches each: matrix products let go of the interpreter."""
        half = len(boxes) // 2
        other = GridMachine(self.function, self.plan, self.grid, self.arguments, self.judged)
        with ThreadPoolExecutor(1) as pool:
            second = pool.submit(other._run, boxes[half:])
            self._run(boxes[:half])
            second.result()
        self.log.take_in(other.log)
        self.idle += other.idle
        self.examples = (self.examples + other.examples)[:4]
        self.accessed = self.accessed or other.accessed
        self.stores = {**other.stores, **self.stores}
        self.reads = {**other.reads, **self.reads}

    def _programs_a_batch(self) -> int:
        widest = 1
        for operation in self.function.walk():
            for result in operation.results:
                shape = result.type.shape
                if shape:
                    widest = max(widest, result.type.scalar.itemsize * int(np.prod(shape)))
        return max(LEAST_PROGRAMS, min(MOST_PROGRAMS, BATCH_BYTES // widest))

    def _batch(self, origin: Shape, lead: Shape) -> None:
        self.lead = lead
        self.coordinates = tuple(
            [_coordinates(origin[axis], lead[axis], axis) for axis in range(LEAD)]
        )
        self.touched = np.zeros(lead, bool)
        self.log.begin_batch()
        environment: Environment = {}
        for parameter in self.function.parameters:
            environment[parameter] = self._argument(parameter)
        self.run_region(self.function.body, environment)
        if self.judged and not self.touched.all():
            missing = np.argwhere(~self.touched)
            self.idle += len(missing)
            for z, y, x in missing[: 4 - len(self.examples)].tolist():
                self.examples.append((x + origin[2], y + origin[1], z + origin[0]))

    def _argument(self, parameter: Value) -> Lanes:
        given = self.arguments[parameter.name]
        if isinstance(given, View):
            pointer = Lanes(parameter.type)
            pointer.const, pointer.origin = int(given.base), given
            return pointer
        return constant(given, parameter.type)

    # Regions and control flow.

    def run_region(self, region: Region, environment: Environment) -> list[Lanes]:
        """Executes the operations; the terminator's operands."""
        for operation in region.operations[:-1]:
            self._operation(operation, environment)
        return [environment[v] for v in region.terminator.operands]

    def _operation(self, operation: Operation, environment: Environment) -> None:
        structured = _STRUCTURE.get(operation.name)
        if structured is not None:
            results = structured(self, operation, environment)
        else:
            operands = self._operands(operation, environment)
            handler = _HANDLERS.get(operation.name)
            if handler is not None:
                results = handler(self, operation, operands)
            else:
                results = self.evaluate(operation, operands)
        for value, result in zip(operation.results, results, strict=True):
            environment[value] = result

    def _operands(self, operation: Operation, environment: Environment) -> tuple[Any, ...]:
        slots = operation.attributes.get("operand_slots")
        values = iter([environment[v] for v in operation.operands])
        if slots is None:
            return tuple(values)
        return tuple([next(values) if there else None for there in slots])

    def evaluate(self, operation: Operation, operands: tuple[Lanes, ...]) -> list[Lanes]:
        """An operation with a meaning."""
        op, kinds = operation.op, [r.type for r in operation.results]
        rule = RULES.get(op.name)
        if rule is not None:
            found = rule(operands, operation.attributes, kinds[0])
            if found is not None and found not in operands:
                return [found if op.name in _OWN_MARKS else carry(found, *operands)]
            if found is not None and not any(_marked(x) for x in operands if x is not found):
                return [found]
        attributes = operation.attributes
        if op.family in PADS_BLOCK:
            arrays = [x.data() for x in operands]
        else:
            arrays = _one_lead([x.full() for x in operands])
        assert op.meaning is not None
        if op.family is Family.SOURCE:
            data = np.asarray(op.meaning(**attributes))
            data = data.reshape((1,) * LEAD + data.shape)
        else:
            data = op.meaning(*arrays, **attributes)
        held = list(data) if isinstance(data, tuple) else [data]
        results = [of_array(np.asarray(d), k) for d, k in zip(held, kinds, strict=True)]
        for result in results:
            if result.type.scalar.is_ptr():
                result.origin = _origin(operands)
            if self.judged:
                taints.follow(operation, operands, result)
        return results

    def choose(self, operation: Operation, environment: Environment) -> list[Lanes]:
        """`if`: one branch where all programs agree, else each on the programs that take it."""
        condition = environment[operation.operands[0]]
        self.decide(condition)
        answers = condition.data()
        if answers.size == 1 or answers.all() or not answers.any():
            region = operation.regions[0 if answers.flat[0] else 1]
            return self.run_region(region, environment)
        return divergence.choose(self, operation, answers, environment)

    def decide(self, x: Lanes) -> None:
        """A value that decides what runs must be defined and unwrapped."""
        if self.judged and (x.undefined or x.taints):
            raise Suspicion

    def repeat(self, operation: Operation, environment: Environment) -> list[Lanes]:
        """`for`, on all programs where they agree on the bounds."""
        lower, upper, step = (environment[v] for v in operation.operands[:3])
        for bound in (lower, upper, step):
            self.decide(bound)
        carried = [environment[v] for v in operation.operands[3:]]
        (body,) = operation.regions
        limits = [b.extent() for b in (lower, upper, step)]
        if any(low != high for low, high in limits):
            return divergence.repeat(self, operation, (lower, upper, step), environment)
        first, last, by = (low for low, _ in limits)
        kind = body.arguments[0].type
        for index in range(first, last, by):
            environment[body.arguments[0]] = constant(index, kind)
            for argument, value in zip(body.arguments[1:], carried, strict=True):
                environment[argument] = value
            carried = self.run_region(body, environment)
        return carried

    def loop(self, operation: Operation, environment: Environment) -> list[Lanes]:
        """`while`, on all programs as long as they agree on the test."""
        test, body = operation.regions
        carried = [environment[v] for v in operation.operands]
        for _ in range(divergence.MOST_TURNS):
            for argument, value in zip(test.arguments, carried, strict=True):
                environment[argument] = value
            flag, *passed = self.run_region(test, environment)
            self.decide(flag)
            answers = flag.data()
            if answers.all():
                for argument, value in zip(body.arguments, passed, strict=True):
                    environment[argument] = value
                carried = self.run_region(body, environment)
            elif not answers.any():
                return passed
            else:
                done = divergence.Scattered(self.lead, operation.results)
                left = np.arange(self.lead[0] * self.lead[1] * self.lead[2])
                whole = divergence.Part(self.lead, left)
                passed = [whole.take(v) for v in passed]
                flags = whole.rows(answers)
                return divergence.loop(self, operation, environment, passed, flags, done, left)
        raise Suspicion  # it may never end, and the step machine can tell

    # Memory.

    def _touch(self, pointer: Lanes, mask: Lanes | None) -> Touch:
        if self.judged:
            if pointer.undefined or pointer.taints or (mask is not None and mask.taints):
                raise Suspicion
            if mask is not None and mask.undefined:
                raise Suspicion
        box = mask.box if mask is not None else None
        found = memory.touch(pointer, None if box else self._mask(mask), self.lead, box)
        memory.prove_inside(found)
        if self.judged:
            self._count(found)
        return found

    def _mask(self, mask: Lanes | None) -> Any:
        if mask is None:
            return None
        array = mask.data()
        if array.size <= 4096 or mask.limits is None:
            if array.all():
                return None
        return array

    def _count(self, access: Touch) -> None:
        self.accessed = True
        if 0 in access.block:
            return
        if access.mask is None:
            self.touched[...] = True
        else:
            axes = tuple(range(LEAD, access.mask.ndim))
            self.touched |= np.broadcast_to(access.mask.any(axis=axes), self.lead)

    def _first(self, access: Touch) -> int | None:
        """The first program instance with an active lane, as a linear id."""
        if 0 in access.block:
            return None
        z, y, x = self.coordinates
        ids = np.broadcast_to((z * self.grid[1] + y) * self.grid[0] + x, self.lead)
        if access.mask is not None:
            axes = tuple(range(LEAD, access.mask.ndim))
            ids = ids[np.broadcast_to(access.mask.any(axis=axes), self.lead)]
        return int(ids.min()) if ids.size else None

    def _note_store(self, access: Touch, operation: Operation) -> None:
        """Where memory that nobody filled was first stored to, in the order of instances."""
        first = self._first(access)
        known = self.stores.get(id(access.view))
        if first is not None and (known is None or first < known[0]):
            self.stores[id(access.view)] = (
                first, access.storage, access.view, operation.location
            )  # fmt: skip

    def load(self, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
        """Reads a batch of blocks."""
        pointer, mask, other = operands
        kind = operation.results[0].type
        access = self._touch(pointer, mask)
        written = self._is_written(access.view)
        if self.judged:
            if access.storage.written is not None:
                if self._first(access) is not None:
                    self.reads[id(access.storage)] = access.storage
                self._prove_initialised(access)
            if written and 0 not in access.block:
                self.log.read(operation, access, self.coordinates, self.grid)
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
            else:
                carry(result, other)
        if kind.scalar.is_ptr():
            result.origin = None
        return [result]

    def storages(self, names: frozenset[str] | None) -> dict[int, Storage]:
        """The memory behind the named pointers (None: behind all)."""
        return {
            id(given.storage): given.storage
            for name, given in self.arguments.items()
            if isinstance(given, View) and given.storage is not None
            and (names is None or name in names)
        }  # fmt: skip

    def _is_written(self, view: View) -> bool:
        return id(view.storage) in self.storages(self.plan.written)

    def _prove_initialised(self, access: Touch) -> None:
        flags = access.storage.written
        if flags is None:
            return
        addresses = access.dense() - access.storage.base
        for byte in range(access.itemsize):
            known = flags.take(np.clip(addresses + byte, 0, flags.size - 1))
            if access.mask is not None:
                known = known | ~access.mask
            if not known.all():
                raise Suspicion

    def store(self, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
        """Writes a batch of blocks."""
        pointer, value, mask = operands
        access = self._touch(pointer, mask)
        if not access.view.writeable:
            raise Suspicion
        if 0 in access.block:
            return []
        if self.judged:
            taints.stored(value, mask)
            self.log.write(operation, access, self.coordinates, self.grid)
        dtype = pointer.type.scalar.element_ty.numpy
        data = value.data()
        if mask is not None and mask.box is not None:
            data = memory.part(data, mask.box)
        memory.write(access, data, dtype)
        if self.judged:
            if access.storage.written is not None:
                self._note_store(access, operation)
                self._mark_written(access)
            if not self.log.injective(access):
                self._prove_no_overlap(access, data, dtype)
        return []

    def _mark_written(self, access: Touch) -> None:
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

    def _prove_no_overlap(self, access: Touch, data: Any, dtype: np.dtype[Any]) -> None:
        """Lanes that share an element must have stored the same bits: read them back."""
        back = memory.read(access, dtype, None, copy=True)
        shape = access.lead + access.block
        back, wanted = np.broadcast_to(back, shape), np.broadcast_to(data, shape)
        bits = np.dtype(f"u{dtype.itemsize}")
        same = np.ascontiguousarray(back).view(bits) == np.ascontiguousarray(wanted).view(bits)
        if access.mask is not None:
            same = same | ~np.broadcast_to(access.mask, shape)
        if not same.all():
            raise Suspicion

    def atomic(self, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
        """The one atomic of a kernel: programs act in the order of their ids, lanes in theirs."""
        pointer, value, mask = operands
        access = self._touch(pointer, mask)
        if not access.view.writeable:
            raise Suspicion
        if self.judged:
            taints.stored(value, mask)
            self.log.atomic(operation, access, self.coordinates, self.grid)
            if access.storage.written is not None:
                if self._first(access) is not None:
                    self.reads[id(access.storage)] = access.storage
                self._note_store(access, operation)
                self._prove_initialised(access)
        if mask is not None and mask.box is not None:
            raise Suspicion
        dtype = pointer.type.scalar.element_ty.numpy
        shape = self.lead + access.block
        index = np.broadcast_to(access.dense() - access.storage.base, shape) // dtype.itemsize
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
        result = of_array(data, operation.results[0].type)
        if access.mask is not None and mask is not None:
            result.undefined = frozenset({mask})
        return [result]

    def program_id(self, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
        """The coordinates of the batch along an axis."""
        axis = LEAD - 1 - operation.attributes["axis"]
        value = Lanes(ty.int32)
        value.const = self.coordinates[axis]
        return [value]

    def num_programs(self, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
        """The length of an axis of the grid."""
        return [constant(self.grid[operation.attributes["axis"]], ty.int32)]

    def arange(self, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
        """A range is affine."""
        value = Lanes(operation.results[0].type)
        start, end = operation.attributes["start"], operation.attributes["end"]
        value.const, value.strides = start, (1 if end - start > 1 else 0,)
        return [value]

    def constant(self, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
        """A constant."""
        return [constant(operation.attributes["value"], operation.results[0].type)]

    def check(self, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
        """An assertion that holds; one that fails is the step machine's to report."""
        condition, mask = operands
        self.decide(condition)
        held = condition.data()
        if mask is not None:
            held = held | ~mask.data()
        if not held.all():
            raise Suspicion
        return []

    def assume(self, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
        """A promise: believed if it holds."""
        if self.judged and not operands[0].data().all():
            raise Suspicion
        return []

    def hint(self, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
        """A promise on values, judged from their elements."""
        from blockstep.interp.control import breaks_hint

        (x,) = operands
        if self.judged:
            size = x.type.scalar.element_ty.itemsize if x.type.scalar.is_ptr() else 1
            attributes = operation.attributes
            if breaks_hint(x.full(), attributes["hint"], attributes["values"], size, LEAD):
                raise Suspicion
        return [x]

    def nothing(self, operation: Operation, operands: tuple[Any, ...]) -> list[Lanes]:
        """A barrier orders what is in order here anyway."""
        self.log.barrier()
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


def _one_lead(arrays: list[Any]) -> list[Any]:
    """The arrays with one lead: operations that are not elementwise do not stretch axes."""
    leads = {a.shape[:LEAD] for a in arrays}
    if len(leads) < 2:
        return arrays
    lead = np.broadcast_shapes(*leads)
    return [np.broadcast_to(a, lead + a.shape[LEAD:]) for a in arrays]


def _combined(found: Any, index: Any, values: Any, combine: str, used: bool) -> Any:
    if not used and combine == "add" and found.dtype.kind in "iu":
        np.add.at(found, index.astype(np.intp, copy=False), values)
        return np.zeros(index.shape, found.dtype)
    return atomics.read_modify_write(found, index, values, combine)


def _coordinates(first: int, length: int, axis: int) -> Any:
    """Program ids along one axis of a batch: a number, or an array shaped to lead."""
    if length == 1:
        return first
    dims = [1] * LEAD
    dims[axis] = length
    return np.arange(first, first + length, dtype=np.int64).reshape(dims)


def batches(grid: tuple[int, int, int], programs: int) -> Iterator[tuple[Shape, Shape]]:
    """Boxes of the grid in program order (x fastest): origin and lengths along (z, y, x)."""
    gx, gy, gz = grid
    bx = min(gx, programs)
    by = min(gy, max(1, programs // bx)) if bx == gx else 1
    bz = min(gz, max(1, programs // (bx * by))) if by == gy and bx == gx else 1
    for z in range(0, gz, bz):
        for y in range(0, gy, by):
            for x in range(0, gx, bx):
                yield (z, y, x), (min(bz, gz - z), min(by, gy - y), min(bx, gx - x))


def _marked(x: Lanes) -> bool:
    """Whether anything may be wrong with some element."""
    return bool(x.undefined or x.taints)


def _origin(operands: Sequence[Any]) -> Any:
    found = {id(x.origin): x.origin for x in operands if x is not None and x.origin is not None}
    return next(iter(found.values())) if len(found) == 1 else None


_OWN_MARKS = frozenset({"splat", "broadcast", "expand_dims", "permute"})
_Structured = Callable[[GridMachine, Operation, Environment], list[Lanes]]
_STRUCTURE: dict[str, _Structured] = {
    "if": GridMachine.choose,
    "for": GridMachine.repeat,
    "while": GridMachine.loop,
}
_HANDLERS: dict[str, Callable[[GridMachine, Operation, tuple[Any, ...]], list[Lanes]]] = {
    "load": GridMachine.load,
    "store": GridMachine.store,
    "atomic_rmw": GridMachine.atomic,
    "program_id": GridMachine.program_id,
    "num_programs": GridMachine.num_programs,
    "arange": GridMachine.arange,
    "constant": GridMachine.constant,
    "assert": GridMachine.check,
    "assume": GridMachine.assume,
    "hint": GridMachine.hint,
    "barrier": GridMachine.nothing,
    "gdc_wait": GridMachine.nothing,
    "gdc_launch_dependents": GridMachine.nothing,
}
