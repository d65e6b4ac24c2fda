"""Program instances that go different ways: a part of the batch at a time.

A *part* is the list of programs that go on together, as a batch of its own whose lead is (1, 1, k).
Values enter a part by taking those programs' rows, once each; what a region yields is put back into
arrays over the outer batch. Loops whose trips differ run on the programs that are still in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from blockstep.interp.grid import taints
from blockstep.interp.grid.lanes import LEAD, Lanes, Shape
from blockstep.interp.grid.memory import Suspicion
from blockstep.ir import Operation, Region, Value

if TYPE_CHECKING:
    from blockstep.interp.grid.machine import GridMachine


MOST_TURNS = 1 << 20  # of a `while`


class Part:
    """Some programs of a batch: `chosen` are their positions in it, in order."""

    def __init__(self, lead: Shape, chosen: Any) -> None:
        self.lead = lead
        self.chosen = chosen
        self.size = len(chosen)
        self._taken: dict[Lanes, Lanes] = {}

    def take(self, value: Lanes) -> Lanes:
        """The value for these programs only."""
        found = self._taken.get(value)
        if found is None:
            found = self._taken[value] = self._take(value)
        return found

    def _take(self, value: Lanes) -> Lanes:
        result = Lanes(value.type)
        if value.box is not None:
            result.box = value.box
        elif value.const is not None:
            result.const, result.strides = self.rows(value.const), value.strides
        else:
            result.array = self.rows(value.array)
        result.origin, result.limits = value.origin, value.limits
        result.flight = value.flight
        result.shadow = None if value.shadow is None else self.rows(value.shadow)
        result.marks = {name: self.rows(lanes) for name, lanes in value.marks.items()}
        result.undefined = frozenset(self.take(m) for m in value.undefined)
        result.implies = frozenset(self.take(m) for m in value.implies)
        return result

    def rows(self, array: Any) -> Any:
        """The rows of an array that leads with the batch; what does not vary stays as it is."""
        if isinstance(array, int) or all(n == 1 for n in array.shape[:LEAD]):
            return array
        block = array.shape[LEAD:]
        flat = np.broadcast_to(array, self.lead + block).reshape(-1, *block)
        return flat[self.chosen].reshape(1, 1, self.size, *block)


class Scattered:
    """Values over a batch that are filled in part by part."""

    def __init__(self, lead: Shape, values: Sequence[Value]) -> None:
        self.lead = lead
        self.count = lead[0] * lead[1] * lead[2]
        self.values = values
        self._held: list[Any] = [None] * len(values)
        self._origins: list[Any] = [None] * len(values)
        self._marks: list[dict[str, Any]] = [{} for _ in values]
        self._flights: list[frozenset[Any]] = [frozenset()] * len(values)
        self._shadows: list[Any] = [None] * len(
            values
        )  # NaN-free where nothing was put: the values
        self._shadowed: list[Any] = [None] * len(values)

    def put(self, chosen: Any, results: Sequence[Lanes]) -> None:
        """The values of some programs."""
        for number, (value, result) in enumerate(zip(self.values, results, strict=True)):
            shape = value.type.shape
            if self._held[number] is None:
                self._held[number] = np.zeros((self.count, *shape), _numpy(value))
                self._origins[number] = result.origin
            elif self._origins[number] is not result.origin:
                raise Suspicion  # pointers into different arguments
            full = result.full()
            rows = np.broadcast_to(full, (1, 1, len(chosen), *shape))
            self._held[number][chosen] = rows.reshape(len(chosen), *shape)
            for name, lanes in taints.marked(result).items():
                marks = self._marks[number].setdefault(name, np.zeros((self.count, *shape), bool))
                rows = np.broadcast_to(lanes, (1, 1, len(chosen), *shape))
                marks[chosen] = rows.reshape(len(chosen), *shape)
            self._flights[number] = self._flights[number] | result.flight
            if result.shadow is not None:
                self._put_shadow(number, chosen, result.shadow, shape)

    def _put_shadow(self, number: int, chosen: Any, shadow: Any, shape: Shape) -> None:
        if self._shadows[number] is None:
            self._shadows[number] = np.zeros((self.count, *shape))
            self._shadowed[number] = np.zeros(self.count, bool)
        rows = np.broadcast_to(shadow, (1, 1, len(chosen), *shape))
        self._shadows[number][chosen] = rows.reshape(len(chosen), *shape)
        self._shadowed[number][chosen] = True

    def _shadow(self, number: int, value: Value) -> Any:
        """The shadows of all programs: the values of those that have none."""
        found, there = self._shadows[number], self._shadowed[number]
        if found is None:
            return None
        if not there.all():
            found[~there] = self._held[number][~there].astype(np.float64)
        return found.reshape(self.lead + value.type.shape)

    def lanes(self) -> list[Lanes]:
        """The values over the whole batch."""
        out = []
        for number, (value, held, origin, marks, flight) in enumerate(zip(
            self.values, self._held, self._origins, self._marks, self._flights, strict=True
        )):  # fmt: skip
            result = Lanes(value.type)
            data = held.reshape(self.lead + value.type.shape)
            scalar = value.type.scalar
            plain = scalar.is_ptr() or (
                scalar._integer and scalar.primitive_bitwidth in range(8, 64)
            )
            if not value.type.shape and plain:
                result.const = data.astype(np.int64)
            else:
                result.array = data
            result.origin, result.flight = origin, flight
            result.shadow = self._shadow(number, value)
            result.marks = {
                name: lanes.reshape(self.lead + value.type.shape)
                for name, lanes in marks.items()
                if lanes.any()
            }
            out.append(result)
        return out


def _numpy(value: Value) -> Any:
    return value.type.scalar.numpy


class _Inside(dict[Value, Lanes]):
    """The variables of a part: outer values are taken when they are first asked for."""

    def __init__(self, outer: dict[Value, Lanes], part: Part) -> None:
        super().__init__()
        self._outer, self._part = outer, part

    def __missing__(self, value: Value) -> Lanes:
        found = self[value] = self._part.take(self._outer[value])
        return found


@contextmanager
def inside(machine: GridMachine, part: Part) -> Iterator[None]:
    """The machine runs the part's programs inside the `with`."""
    before = machine.lead, machine.coordinates, machine.touched
    machine.coordinates = tuple([part.rows(c) for c in machine.coordinates])
    machine.lead = (1, 1, part.size)
    machine.touched = np.zeros(machine.lead, bool)
    try:
        yield
        flat = before[2].reshape(-1)
        flat[part.chosen] |= machine.touched.reshape(-1)
    finally:
        machine.lead, machine.coordinates, machine.touched = before


def choose(
    machine: GridMachine, operation: Operation, condition: Any, environment: dict[Value, Lanes]
) -> list[Lanes]:
    """A divergent `if`: each branch on the programs that take it."""
    lead = machine.lead
    taken = np.broadcast_to(condition, lead).reshape(-1)
    merged = Scattered(lead, operation.results)
    for region, chosen in zip(
        operation.regions, (np.flatnonzero(taken), np.flatnonzero(~taken)), strict=True
    ):
        part = Part(lead, chosen)
        with inside(machine, part):
            merged.put(chosen, machine.run_region(region, _Inside(environment, part)))
    return merged.lanes()


def repeat(
    machine: GridMachine, operation: Operation, bounds: Sequence[Lanes],
    environment: dict[Value, Lanes],
) -> list[Lanes]:  # fmt: skip
    """A `for` whose bounds differ between programs."""
    lead = machine.lead
    lower, upper, step = (_flat(b, lead) for b in bounds)
    trips = np.maximum((upper - lower + step - np.sign(step)) // step, 0)
    (body,) = operation.regions
    carried = [environment[v] for v in operation.operands[3:]]
    left = np.flatnonzero(trips > 0)
    done = Scattered(lead, operation.results)
    finished = np.flatnonzero(trips == 0)
    if len(finished):
        done.put(finished, [Part(lead, finished).take(v) for v in carried])
    outer, values = Part(lead, left), carried
    values = [outer.take(v) for v in values]
    turn = 0
    while len(left):
        with inside(machine, outer):
            variables = _Inside(environment, outer)
            index = Lanes(body.arguments[0].type)
            index.const = (lower[left] + turn * step[left]).reshape(1, 1, -1)
            values = _once(machine, body, variables, [index, *values])
        turn += 1
        going = trips[left] > turn
        if not going.all():
            outer, left, values = _leave(done, lead, left, going, values)
    return done.lanes() if operation.results else []


def loop(
    machine: GridMachine, operation: Operation, environment: dict[Value, Lanes],
    passed: Sequence[Lanes], flags: Any, done: Scattered, left: Any,
) -> list[Lanes]:  # fmt: skip
    """A `while` some of whose programs have left: `passed` and `flags` are those of `left`."""
    test, body = operation.regions
    lead = done.lead
    values: Sequence[Lanes] = passed
    for _ in range(MOST_TURNS):
        going = np.broadcast_to(flags, (1, 1, len(left))).reshape(-1)
        part, left, values = _leave(done, lead, left, going, list(values))
        if not len(left):
            return done.lanes()
        with inside(machine, part):
            variables = _Inside(environment, part)
            values = _once(machine, body, variables, list(values))
            flag, *values = _once(machine, test, variables, list(values))
            machine.decide(flag)
        flags = flag.data()
    raise Suspicion  # it may never end, and the step machine can tell


def _once(
    machine: GridMachine, region: Region, variables: _Inside, values: list[Lanes]
) -> list[Lanes]:
    for argument, value in zip(region.arguments, values, strict=True):
        variables[argument] = value
    return machine.run_region(region, variables)


def _leave(
    done: Scattered, lead: Shape, left: Any, going: Any, values: list[Lanes]
) -> tuple[Part, Any, list[Lanes]]:
    """Puts down the values of the programs that stop; the part and values of those that go on."""
    here = (1, 1, len(left))
    stop = np.flatnonzero(~going)
    if len(stop):
        gone = Part(here, stop)
        done.put(left[stop], [gone.take(v) for v in values])
    stay = Part(here, np.flatnonzero(going))
    return Part(lead, left[going]), left[going], [stay.take(v) for v in values]


def _flat(bound: Lanes, lead: Shape) -> Any:
    data = np.asarray(bound.data(), np.int64)
    return np.broadcast_to(data, lead).reshape(-1)
