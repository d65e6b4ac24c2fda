"""Runs block IR on ranged values: a batch of program instances at a time, or one by one.

Every array leads with one axis over the instances of the batch (of length 1 where they agree). An
instance whose order may matter (atomics that give their old values, volatile loads, storages that
are read and written) runs alone, to its end, in the order of program ids. Where instances of a batch
go different ways, each part of the batch goes its own.

A branch or a loop whose test is in doubt is run as the step machine runs it; everything that it may
write, and all its results, are then undecided. So is everything behind an address in doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp.bounds import reductions
from blockstep.interp.bounds.memory import Memory, Unbounded
from blockstep.interp.bounds.ranges import (
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

Handler = Callable[["BoundMachine", Operation, list[Any]], list[Ranged]]
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
    handlers: Mapping[str, Handler]  # of operations without a meaning
    memory: Memory = field(init=False)
    programs: Any = None  # linear ids of the instances of the batch
    reach_in_doubt: bool = False
    """Whether another execution may touch other memory: an address, a mask or a test is in doubt."""
    _alone: bool = False

    def __post_init__(self) -> None:
        operations = list(self.function.walk())
        if any(o.name == "call" for o in operations):
            raise Unbounded("a function is kept as a call")
        pointers = {n for n, v in self.arguments.items() if isinstance(v, View)}
        read = plans.reached([o for o in operations if o.name in plans.READS])
        written = plans.reached([o for o in operations if o.name in plans.WRITES])
        both = self._same_memory(
            pointers if read is None else read, pointers if written is None else written
        )
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
        operands: list[Any] = (
            list(values) if slots is None else [next(values) if s else None for s in slots]
        )
        handler = self.handlers.get(operation.name)
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
        branches = [
            (operation.regions[0], np.flatnonzero(taken)),
            (operation.regions[1], np.flatnonzero(~taken)),
        ]
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
            chosen = np.flatnonzero(
                np.logical_and.reduce([b == v for b, v in zip(bounds, triple, strict=True)])
            )
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
                doubts.append(
                    Ranged(False, ty.int1, flags=np.bitwise_or.reduce(condition.flags, axis=None))
                )
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
        self.reach_in_doubt = True
        flag = int(np.bitwise_or.reduce(condition.flags, axis=None))
        for inner in operation.walk():
            if inner.name in _WRITES:
                self._taint(inner, flag)

    def _taint(self, store: Operation, flag: int) -> None:
        names = plans.reached([store])
        size = store.operands[0].type.scalar.element_ty.itemsize  # type: ignore[attr-defined]
        for name, view in self.arguments.items():
            if (
                isinstance(view, View)
                and view.storage is not None
                and (names is None or name in names)
            ):
                self.memory.of_view(view).taint(flag, size)

    def lost(self, store: Operation, flags: Any) -> None:
        """An address or a mask in doubt (None: it is not): what is written may be anywhere."""
        if flags is not None:
            self._taint(store, int(np.bitwise_or.reduce(np.asarray(flags), axis=None)))

    @property
    def is_alone(self) -> bool:
        """Whether there is only one program instance."""
        return self.grid == (1, 1, 1)

    def _marked(self, tests: Any, results: list[Ranged]) -> list[Ranged]:
        """The results of instances whose tests are in doubt may be anything."""
        flags = flags_of(*(tests if isinstance(tests, list) else [tests]))
        if flags is None:
            return results
        flags = np.asarray(flags).reshape(-1)
        return [_doubtful(r, flags) for r in results]


def _doubtful(x: Ranged, flags: Any) -> Ranged:
    """Anything in the instances that are marked."""
    marks = flags.reshape((-1,) + (1,) * (np.ndim(x.value) - 1))
    shape = np.broadcast_shapes(np.shape(x.value), np.shape(marks))
    whole = x.moved(lambda a: np.broadcast_to(a, shape))
    open_ = anything(whole.value, x.kind, marks)
    if not x.kind.is_floating():
        return tidied(whole.value, x.kind, None, None, flags_of(whole, open_))
    low, high = np.minimum(whole.lows, open_.lows), np.maximum(whole.highs, open_.highs)
    return tidied(whole.value, x.kind, low, high, flags_of(whole, open_))


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
    return Ranged(
        value, kind, together([p.lows for p in parts]), together([p.highs for p in parts]), flags
    )


def _one_lead(family: Family, operands: list[Ranged]) -> list[Ranged]:
    """Operations that are not elementwise do not stretch axes."""
    if family in (Family.ELEMENTWISE, Family.SELECT) or len(operands) < 2:
        return operands
    lead = max(np.shape(x.value)[0] for x in operands)
    if all(np.shape(x.value)[0] == lead for x in operands):
        return operands
    return [x.moved(lambda a: np.broadcast_to(a, (lead, *np.shape(a)[1:]))) for x in operands]
