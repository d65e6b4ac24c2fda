"""Runs block IR on ranged values: a batch of program instances at a time, or one by one.

Every array leads with one axis over the instances of the batch (of length 1 where they agree). An
instance whose order may matter (atomics that give their old values, volatile loads, storages that
are read and written) runs alone, to its end, in the order of program ids. Where instances of a batch
go different ways, each part of the batch goes its own.

A branch or a loop whose test is in doubt is run as the step machine runs it; everything that it may
write, and all its results, are then undecided. So is everything behind an address in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp import atomics
from blockstep.interp.bounds import memory as mem
from blockstep.interp.bounds import reductions
from blockstep.interp.bounds.memory import Memory, Unbounded
from blockstep.interp.bounds.ranges import (
    ORDERED,
    UNDECIDED,
    Ranged,
    anything,
    flags_of,
    tidied,
)
from blockstep.interp.bounds.rules import Freedom, apply
from blockstep.interp.grid import plan as plans
from blockstep.interp.memory import View
from blockstep.ir import Function, Operation, Region, Value
from blockstep.language import types as ty
from blockstep.language.op import Family

Environment = dict[Value, Ranged]
WIDEST_BATCH = 1 << 18  # elements of the widest block of a batch
MOST_TURNS = 1 << 20  # of a `while`
_WRITES = frozenset({"store", "atomic_rmw", "atomic_cas", "atomic_store"})


@dataclass(slots=True, eq=False)
class BoundMachine:
    """One launch. `arguments` by parameter name: a number, or the View of a pointer."""

    function: Function
    arguments: dict[str, Any]
    grid: tuple[int, int, int]
    freedom: Freedom
    memory: Memory = field(init=False)
    programs: Any = None  # linear ids of the instances of the batch
    _alone: bool = False

    def __post_init__(self) -> None:
        operations = list(self.function.walk())
        if any(o.name == "call" for o in operations):
            raise Unbounded("a function is kept as a call")
        pointers = {n for n, v in self.arguments.items() if isinstance(v, View)}
        read = plans._reached([o for o in operations if o.name in plans.READS])
        written = plans._reached([o for o in operations if o.name in plans.WRITES])
        both = self._same_memory(pointers if read is None else read, pointers if written is None else written)
        self._alone = bool(both) or any(
            o.attributes.get("volatile") or (o.name in plans.ATOMICS and not _any_order(o))
            for o in operations
        )
        self._alone |= len({o.attributes.get("combine") for o in operations} - {None}) > 1
        self.memory = Memory.of(self.arguments, both)

    def _same_memory(self, read: Any, written: Any) -> set[str]:
        """The parameters whose storage is read through one and written through another, or the same."""
        storages = {n: id(v.storage) for n, v in self.arguments.items() if isinstance(v, View)}
        shared = {storages[n] for n in read if n in storages}
        shared &= {storages[n] for n in written if n in storages}
        return {n for n, s in storages.items() if s in shared}

    def run(self) -> None:
        """Every program instance. Raises Unbounded."""
        total = self.grid[0] * self.grid[1] * self.grid[2]
        batch = 1 if self._alone else self._batch()
        with np.errstate(all="ignore"):
            for first in range(0, total, batch):
                self.programs = np.arange(first, min(first + batch, total), dtype=np.int64)
                environment = {p: self._argument(p) for p in self.function.parameters}
                self.region(self.function.body, environment)

    def _batch(self) -> int:
        widest = 1
        for operation in self.function.walk():
            for value in (*operation.results, *operation.operands):
                widest = max(widest, int(np.prod(value.type.shape or (1,))))
        return max(1, WIDEST_BATCH // widest)

    def _argument(self, parameter: Value) -> Ranged:
        given = self.arguments[parameter.name]
        scalar = parameter.type.scalar
        if isinstance(given, View):
            return Ranged(np.array([int(given.base)], np.int64), scalar)
        return Ranged(np.array([given]).astype(scalar.numpy), scalar)

    def region(self, region: Region, environment: Environment) -> list[Ranged]:
        """Executes the operations; the terminator's operands."""
        for operation in region.operations[:-1]:
            results = self._operation(operation, environment)
            for value, result in zip(operation.results, results, strict=True):
                environment[value] = result
        return [environment[v] for v in region.terminator.operands]

    def _operation(self, operation: Operation, environment: Environment) -> list[Ranged]:
        structured = {"if": self._if, "for": self._for, "while": self._while}.get(operation.name)
        if structured is not None:
            return structured(operation, environment)
        values = iter([environment[v] for v in operation.operands])
        slots = operation.attributes.get("operand_slots")
        operands: list[Any] = list(values) if slots is None else [next(values) if s else None for s in slots]
        handler = _HANDLERS.get(operation.name)
        if handler is not None:
            return handler(self, operation, operands)
        return self._evaluate(operation, operands)

    def _evaluate(self, operation: Operation, operands: list[Ranged]) -> list[Ranged]:
        op, kinds = operation.op, [r.type for r in operation.results]
        if op.meaning is None:
            raise Unbounded(f"`{op.name}` cannot be bounded")
        if op.family is Family.SOURCE:
            data = np.asarray(op.meaning(**operation.attributes))
            return [Ranged(data[None], kinds[0].scalar)]
        attributes = {k: v for k, v in operation.attributes.items() if k != "operand_slots"}
        if op.name == "map":
            return self._map(operation, operands)
        return apply(op, attributes, kinds, _one_lead(op.family, operands), self.freedom)

    def _map(self, operation: Operation, operands: list[Ranged]) -> list[Ranged]:
        shape = np.broadcast_shapes(*[np.shape(x.value) for x in operands])
        found = reductions.through(operation.attributes["region"], operands, self.freedom)
        return [x.moved(lambda a: np.broadcast_to(a, shape)) for x in found]

    # Control flow

    def part(self, environment: Environment, chosen: Any) -> Environment:
        """The variables of some instances of the batch."""
        return _Part(environment, chosen)

    def _if(self, operation: Operation, environment: Environment) -> list[Ranged]:
        condition = environment[operation.operands[0]]
        taken = np.broadcast_to(np.asarray(condition.value, bool), self.programs.shape)
        branches = [(operation.regions[0], np.flatnonzero(taken)), (operation.regions[1], np.flatnonzero(~taken))]
        pieces = []
        for region, chosen in branches:
            if len(chosen):
                pieces.append((chosen, self._some(region, environment, chosen, [])))
        self._doubt(condition, operation)
        return self._marked(condition, self._joined(operation, pieces))

    def _some(
        self, region: Region, environment: Environment, chosen: Any, given: Sequence[Ranged]
    ) -> list[Ranged]:
        """A region for some instances; `given` are its arguments, for these."""
        whole, self_programs = len(chosen) == len(self.programs), self.programs
        inner: Environment = environment if whole else self.part(environment, chosen)
        for argument, value in zip(region.arguments, given, strict=True):
            inner[argument] = value
        self.programs = self_programs[chosen]
        try:
            return self.region(region, inner)
        finally:
            self.programs = self_programs

    def _joined(self, operation: Operation, pieces: list[tuple[Any, list[Ranged]]]) -> list[Ranged]:
        """Results of parts of the batch, as results of the batch."""
        if len(pieces) == 1:
            return pieces[0][1]
        place = np.argsort(np.concatenate([chosen for chosen, _ in pieces]))
        sizes = [len(chosen) for chosen, _ in pieces]
        return [
            _concatenated([found[k] for _, found in pieces], sizes, place)
            for k in range(len(operation.results))
        ]

    def _for(self, operation: Operation, environment: Environment) -> list[Ranged]:
        lower, upper, step, *carried = [environment[v] for v in operation.operands]
        bounds = [np.broadcast_to(b.value, self.programs.shape) for b in (lower, upper, step)]
        pieces = []
        for triple in {tuple(int(v) for v in row) for row in zip(*bounds, strict=True)}:
            chosen = np.flatnonzero(np.logical_and.reduce([b == v for b, v in zip(bounds, triple, strict=True)]))
            values = _taken(carried, chosen, len(self.programs))
            for index in range(*triple):
                kind = operation.regions[0].arguments[0].type.scalar
                turn = Ranged(np.array([index]).astype(kind.numpy), kind)
                values = self._some(operation.regions[0], environment, chosen, [turn, *values])
            pieces.append((chosen, values))
        for bound in (lower, upper, step):
            self._doubt(bound, operation)
        return self._marked([lower, upper, step], self._joined(operation, pieces))

    def _while(self, operation: Operation, environment: Environment) -> list[Ranged]:
        test, body = operation.regions
        left = np.arange(len(self.programs))
        values = [environment[v] for v in operation.operands]
        pieces, doubts = [], []
        for _ in range(MOST_TURNS):
            condition, *passed = self._some(test, environment, left, values)
            if condition.flags is not None:
                doubts.append(Ranged(False, ty.int1, flags=np.bitwise_or.reduce(condition.flags, axis=None)))
            going = np.broadcast_to(np.asarray(condition.value, bool), left.shape)
            stop = np.flatnonzero(~going)
            if len(stop):
                pieces.append((left[stop], _taken(passed, stop, len(left))))
            stay = np.flatnonzero(going)
            if not len(stay):
                for doubt in doubts:
                    self._doubt(doubt, operation)
                return self._marked(doubts, self._joined(operation, pieces))
            values, left = _taken(passed, stay, len(left)), left[stay]
            values = self._some(body, environment, left, values)
        raise Unbounded("a loop does not end: it may wait for another program instance")

    def _doubt(self, condition: Ranged, operation: Operation) -> None:
        """A test that may go otherwise: whatever the operation may write is in doubt."""
        if condition.flags is None:
            return
        flag = int(np.bitwise_or.reduce(condition.flags, axis=None))
        for inner in operation.walk():
            if inner.name in _WRITES:
                self._taint(inner, flag)

    def _taint(self, store: Operation, flag: int) -> None:
        names = plans._reached([store])
        size = store.operands[0].type.scalar.element_ty.itemsize  # type: ignore[attr-defined]
        for name, view in self.arguments.items():
            if isinstance(view, View) and view.storage is not None and (names is None or name in names):
                self.memory.of_view(view).taint(flag, size)

    def _lost(self, store: Operation, x: Ranged) -> None:
        """An address or a mask in doubt: what is written may be anywhere."""
        if x.flags is not None:
            self._taint(store, int(np.bitwise_or.reduce(x.flags, axis=None)))

    def _marked(self, tests: Any, results: list[Ranged]) -> list[Ranged]:
        flags = flags_of(*(tests if isinstance(tests, list) else [tests]))
        if flags is None:
            return results
        flag = np.bitwise_or.reduce(np.asarray(flags), axis=None)
        return [anything(r.value, r.kind, flag) for r in results]

    # Memory

    def _lanes(self, pointer: Ranged, mask: Ranged | None, *more: Ranged | None) -> Any:
        """Shape over the batch, the active lanes' addresses and programs, and a way to flatten."""
        given = [x for x in (pointer, mask, *more) if x is not None]
        rank = max(np.ndim(x.value) for x in given)
        lead = np.broadcast_shapes(self.programs.shape, *[np.shape(x.value)[:1] for x in given])
        shape = lead + np.broadcast_shapes(*[np.shape(x.value)[1:] for x in given])
        on = np.ones(shape, bool) if mask is None else np.broadcast_to(np.asarray(mask.value, bool), shape)
        programs = np.broadcast_to(self.programs.reshape((-1,) + (1,) * (rank - 1)), shape)[on]
        return shape, on, np.broadcast_to(pointer.value, shape)[on], programs

    def load(self, operation: Operation, operands: list[Any]) -> list[Ranged]:
        pointer, mask, other = operands
        kind = operation.results[0].type.scalar
        shape, on, addresses, programs = self._lanes(pointer, mask, other)
        value = np.zeros(shape, kind.numpy)
        filled = Ranged(value, kind)
        if other is not None:
            value[...] = other.value
            filled = Ranged(value, kind, other.low, other.high, other.flags)
        cell = self.memory.cell(addresses, kind.itemsize)
        made = filled
        if cell is not None:
            index = (addresses - cell.base) // kind.itemsize
            made = _laid(filled, on, mem.read(cell, index, kind, programs))
        doubt = flags_of(*[x for x in (pointer, mask) if x is not None])
        if doubt is not None:
            flags = doubt if made.flags is None else made.flags | doubt
            open_ = anything(made.value, kind, doubt)
            if kind.is_floating():
                low, high = np.minimum(open_.lows, made.lows), np.maximum(open_.highs, made.highs)
                return [Ranged(made.value, kind, low, high, np.broadcast_to(flags, shape))]
            return [tidied(made.value, kind, None, None, flags)]
        return [made]

    def store(self, operation: Operation, operands: list[Any]) -> list[Ranged]:
        pointer, value, mask = operands
        kind = pointer.kind.element_ty
        shape, on, addresses, programs = self._lanes(pointer, mask, value)
        cell = self.memory.cell(addresses, kind.itemsize)
        if cell is not None:
            mem.write(cell, (addresses - cell.base) // kind.itemsize, _active(value, kind, shape, on), programs)
        if mask is not None and mask.flags is not None:
            doubtful = np.broadcast_to(mask.flags != 0, shape)
            addresses = np.broadcast_to(pointer.value, shape)[doubtful]
            flags = np.broadcast_to(mask.flags, shape)[doubtful]
            cell = self.memory.cell(addresses, kind.itemsize)
            if cell is not None:
                mem.mark(cell, (addresses - cell.base) // kind.itemsize, kind.itemsize, flags)
        self._lost(operation, pointer)
        return []

    def atomic(self, operation: Operation, operands: list[Any]) -> list[Ranged]:
        """Reads, combines and writes; the old values depend on the order of instances."""
        pointer, value, mask = operands
        combine, kind = operation.attributes["combine"], operation.results[0].type.scalar
        shape, on, addresses, programs = self._lanes(pointer, mask, value)
        old = np.zeros(shape, kind.numpy)
        cell = self.memory.cell(addresses, kind.itemsize)
        if cell is None:
            return [Ranged(old, kind)]
        index = (addresses - cell.base) // kind.itemsize
        before = mem.read(cell, index, kind, programs)
        old[on] = mem.update(cell, index, _active(value, kind, shape, on), combine)
        mem.note_writer(cell, index, kind.itemsize, programs)
        self._lost(operation, pointer)
        if mask is not None:
            self._lost(operation, mask)
        alone = int(np.prod(self.grid)) == 1 and len(np.unique(index)) == len(index)
        if alone:
            return [_laid(Ranged(old, kind), on, before)]
        return [anything(old, kind, np.where(on, ORDERED, 0))]

    def swap(self, operation: Operation, operands: list[Any]) -> list[Ranged]:
        """Compares and swaps: who comes first decides."""
        pointer, expected, value = operands
        kind = operation.results[0].type.scalar
        shape, on, addresses, programs = self._lanes(pointer, None, expected, value)
        cell = self.memory.cell(addresses, kind.itemsize)
        if cell is None:
            return [Ranged(np.zeros(shape, kind.numpy), kind)]
        index = (addresses - cell.base) // kind.itemsize
        given = [np.broadcast_to(x.value, shape)[on] for x in (expected, value)]
        old, _ = atomics.compare_and_swap(cell.typed(kind.numpy), index, *given)
        mem.mark(cell, index, kind.itemsize, ORDERED)
        self._lost(operation, pointer)
        return [anything(old.reshape(shape), kind, np.uint8(ORDERED))]

    def atomic_load(self, operation: Operation, operands: list[Any]) -> list[Ranged]:
        """What it finds depends on the order of instances."""
        pointer, mask = operands
        (made,) = self.load(operation, [pointer, mask, None])
        return [anything(made.value, made.kind, np.uint8(ORDERED))]

    # Coordinates and effects

    def program_id(self, operation: Operation, operands: list[Any]) -> list[Ranged]:
        x, y, _ = self.grid
        ids = (self.programs % x, self.programs // x % y, self.programs // (x * y))
        return [Ranged(ids[operation.attributes["axis"]].astype(np.int32), ty.int32)]

    def num_programs(self, operation: Operation, operands: list[Any]) -> list[Ranged]:
        return [Ranged(np.array([self.grid[operation.attributes["axis"]]], np.int32), ty.int32)]

    def hint(self, operation: Operation, operands: list[Any]) -> list[Ranged]:
        return [operands[0]]

    def nothing(self, operation: Operation, operands: list[Any]) -> list[Ranged]:
        return []

    def clock(self, operation: Operation, operands: list[Any]) -> list[Ranged]:
        return [anything(np.zeros(1, np.int64), ty.int64, np.uint8(UNDECIDED))]


def _any_order(atomic: Operation) -> bool:
    return bool(atomic.results) and plans.any_order(atomic)


class _Part(dict[Value, Ranged]):
    """Variables of a part of the batch: taken when they are first asked for."""

    def __init__(self, outer: Environment, chosen: Any) -> None:
        super().__init__()
        self._outer, self._chosen = outer, chosen

    def __missing__(self, value: Value) -> Ranged:
        (found,) = _taken([self._outer[value]], self._chosen, None)
        self[value] = found
        return found


def _taken(values: Sequence[Ranged], chosen: Any, count: int | None) -> list[Ranged]:
    """The rows of some instances."""
    if count is not None and len(chosen) == count:
        return list(values)
    return [x.moved(lambda a: a if np.shape(a)[:1] in ((1,), ()) else a[chosen]) for x in values]


def _concatenated(parts: list[Ranged], sizes: list[int], place: Any) -> Ranged:
    block = np.broadcast_shapes(*[np.shape(p.value)[1:] for p in parts])

    def rows(array: Any, size: int) -> Any:
        return np.broadcast_to(array, (size, *block))

    def together(arrays: list[Any]) -> Any:
        return np.concatenate([rows(a, n) for a, n in zip(arrays, sizes, strict=True)])[place]

    kind, value = parts[0].kind, together([p.value for p in parts])
    flags = None
    if any(p.flags is not None for p in parts):
        flags = together([np.uint8(0) if p.flags is None else p.flags for p in parts])
    if all(p.low is None for p in parts):
        return Ranged(value, kind, flags=flags)
    return Ranged(value, kind, together([p.lows for p in parts]), together([p.highs for p in parts]), flags)


def _one_lead(family: Family, operands: list[Ranged]) -> list[Ranged]:
    """Operations that are not elementwise do not stretch axes."""
    if family in (Family.ELEMENTWISE, Family.SELECT) or len(operands) < 2:
        return operands
    lead = max(np.shape(x.value)[0] for x in operands)
    if all(np.shape(x.value)[0] == lead for x in operands):
        return operands
    return [x.moved(lambda a: np.broadcast_to(a, (lead, *np.shape(a)[1:]))) for x in operands]


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


_HANDLERS: dict[str, Any] = {
    "load": BoundMachine.load,
    "store": BoundMachine.store,
    "atomic_rmw": BoundMachine.atomic,
    "atomic_cas": BoundMachine.swap,
    "atomic_load": BoundMachine.atomic_load,
    "atomic_store": BoundMachine.store,
    "program_id": BoundMachine.program_id,
    "num_programs": BoundMachine.num_programs,
    "hint": BoundMachine.hint,
    "globaltimer": BoundMachine.clock,
    **dict.fromkeys(
        ("barrier", "assert", "assume", "print", "gdc_wait", "gdc_launch_dependents"),
        BoundMachine.nothing,
    ),
}
