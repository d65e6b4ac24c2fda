"""Runs block IR over one batch of program instances after another.

Every operation is one NumPy call for the whole batch. What the step machine would report is not
worked out here: where an access, a value or an order cannot be *proved* clean, `Suspicion` is raised,
memory is put back, and the step machine runs the launch and says what is wrong. So the findings are
the same by construction, and a clean launch costs what its arithmetic costs. It runs placed IR as
well, unjudged: `asynchronous` says what of that is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.interp.grid import divergence, taints
from blockstep.interp.grid.arena import arena
from blockstep.interp.grid.asynchronous import Asynchronous
from blockstep.interp.grid.checks import Checks
from blockstep.interp.grid.handlers import HANDLERS
from blockstep.interp.grid.lanes import LEAD, Lanes, Shape, constant, of_array, unmarked
from blockstep.interp.grid.memory import Suspicion, Touch
from blockstep.interp.grid.plan import Plan
from blockstep.interp.grid.races import Log
from blockstep.interp.grid.rules import RULES
from blockstep.interp.grid.turns import Turns
from blockstep.interp.memory import Storage, View
from blockstep.ir import Function, Operation, Region, Value
from blockstep.language.op import Family

Environment = dict[Value, Lanes]
BATCH_BYTES = 1 << 20  # of the widest block of a batch: it should stay in the cache
LEAST_PROGRAMS, MOST_PROGRAMS = 16, 4096
LEAST_SHARED = 4  # batches from which on two workers pay

PADS_BLOCK = frozenset({Family.ELEMENTWISE, Family.SELECT})


@dataclass(slots=True, eq=False)
class GridMachine:
    """One launch. `checks` says what must be proved; `counts`, whether irregular stores are counted
    before each of them is written down (then `run` may raise Shared)."""

    function: Function
    plan: Plan
    grid: tuple[int, int, int]
    arguments: dict[str, Any]  # by parameter name: a number, or the View of a pointer
    checks: Checks
    counts: bool = False
    seeded: bool = False  # whether the order of program instances is to be another one than by id
    log: Log = field(init=False)
    turns: Turns = field(init=False)
    written: frozenset[int] = field(init=False)  # ids of the storages that the launch may write
    lead: Shape = (1, 1, 1)
    coordinates: tuple[Any, Any, Any] = (0, 0, 0)
    touched: Any = None
    accessed: bool = False  # whether any access was executed, if only with its mask off
    idle: int = 0
    examples: list[tuple[int, int, int]] = field(default_factory=list)
    stores: dict[int, Any] = field(default_factory=dict)  # first store to memory nobody filled
    reads: dict[int, Any] = field(default_factory=dict)  # such memory that was read
    heard: Callable[[str, Touch], None] | None = None  # told of each read, write and atomic
    before: tuple[int, int, int] | None = None  # only the program instances before this one run
    asynchronous: Asynchronous | None = None  # what is under way in the batch, in placed IR

    def __post_init__(self) -> None:
        self.written = frozenset(self.storages(self.plan.written))
        judged = self.written if self.checks.judged else frozenset()
        read_back = judged.intersection(self.storages(self.plan.read))
        only_atomic = judged.difference(self.storages(self.plan.plain))
        self.log = Log(self.checks, read_back, only_atomic, self.counts)
        self.turns = Turns(self.seeded, self.checks.precise)

    def run(self) -> None:
        """Every program instance. Raises Suspicion where the step machine is needed."""
        boxes = list(batches(self.grid, self._programs_a_batch(), self.before))
        with arena():
            if self.plan.has_dot and not self.plan.has_atomics and len(boxes) >= LEAST_SHARED:
                self._shared(boxes)
            else:
                self._run(boxes)
            if self.checks.judged:
                self.log.prove(self.grid)

    def _run(self, boxes: Sequence[tuple[Shape, Shape]]) -> None:
        with np.errstate(all="ignore"):
            for origin, lead in boxes:
                self._batch(origin, lead)

    def _shared(self, boxes: Sequence[tuple[Shape, Shape]]) -> None:
        """Two workers, half of the batches each: matrix products let go of the interpreter."""
        half = len(boxes) // 2
        other = GridMachine(
            self.function, self.plan, self.grid, self.arguments, self.checks, self.counts,
            heard=self.heard,
        )  # fmt: skip
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
        if self.plan.is_placed:
            self.asynchronous = Asynchronous(self.function, origin, lead)
        self.log.begin_batch()
        environment: Environment = {}
        for parameter in self.function.parameters:
            environment[parameter] = self._argument(parameter)
        self.run_region(self.function.body, environment)
        self.turns.end_batch()
        if self.checks.grid and not self.touched.all():
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
            if self.asynchronous is not None:
                self.asynchronous.check(self, operation, operands)
            handler = HANDLERS.get(operation.name)
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

    def evaluate(
        self,
        operation: Operation,
        operands: tuple[Lanes, ...],
        attributes: dict[str, Any] | None = None,
    ) -> list[Lanes]:
        """An operation with a meaning, which may be told less than the operation's attributes."""
        op, kinds = operation.op, [r.type for r in operation.results]
        rule = RULES.get(op.name)
        if rule is not None:
            found = rule(operands, operation.attributes, kinds[0])
            if found is not None:
                return [found if op.name in _OWN_MARKS else self._carry(found, operation, operands)]
        if attributes is None:
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
        if self.checks.marks:
            taints.follow(operation, operands, results, self.checks.marks)
        return results

    def _carry(self, found: Lanes, operation: Operation, operands: tuple[Lanes, ...]) -> Lanes:
        """What a rule found, with the marks of its operands."""
        if not any(taints.questionable(x) for x in operands):
            return found
        result = unmarked(found) if found in operands else found
        taints.carry(operation, operands, [result])
        return result

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
        if taints.decides(x):
            raise Suspicion
        if self.checks.precise and x.type.scalar.is_floating() and np.isnan(x.data()).any():
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

    def storages(self, names: frozenset[str] | None) -> dict[int, Storage]:
        """The memory behind the named pointers (None: behind all)."""
        return {
            id(given.storage): given.storage
            for name, given in self.arguments.items()
            if isinstance(given, View) and given.storage is not None
            and (names is None or name in names)
        }  # fmt: skip


def _one_lead(arrays: list[Any]) -> list[Any]:
    """The arrays with one lead: operations that are not elementwise do not stretch axes."""
    leads = {a.shape[:LEAD] for a in arrays}
    if len(leads) < 2:
        return arrays
    lead = np.broadcast_shapes(*leads)
    return [np.broadcast_to(a, lead + a.shape[LEAD:]) for a in arrays]


def _coordinates(first: int, length: int, axis: int) -> Any:
    """Program ids along one axis of a batch: a number, or an array shaped to lead."""
    if length == 1:
        return first
    dims = [1] * LEAD
    dims[axis] = length
    return np.arange(first, first + length, dtype=np.int64).reshape(dims)


def batches(
    grid: tuple[int, int, int], programs: int, before: tuple[int, int, int] | None = None
) -> Iterator[tuple[Shape, Shape]]:
    """Boxes of the grid (of what comes `before` one program instance) in program order, x fastest:
    origin and lengths along (z, y, x)."""
    if before is not None:
        x, y, z = before
        for part, (oz, oy, ox) in (
            ((grid[0], grid[1], z), (0, 0, 0)), ((grid[0], y, 1), (z, 0, 0)), ((x, 1, 1), (z, y, 0)),
        ):  # fmt: skip
            for origin, lead in batches(part, programs) if min(part) else ():
                yield (origin[0] + oz, origin[1] + oy, origin[2] + ox), lead
        return
    gx, gy, gz = grid
    bx = min(gx, programs)
    by = min(gy, max(1, programs // bx)) if bx == gx else 1
    bz = min(gz, max(1, programs // (bx * by))) if by == gy and bx == gx else 1
    for z in range(0, gz, bz):
        for y in range(0, gy, by):
            for x in range(0, gx, bx):
                yield (z, y, x), (min(bz, gz - z), min(by, gy - y), min(bx, gx - x))


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
