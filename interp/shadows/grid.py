"""Shadows on the grid machine: every operation once more in float64, beside what it gave.

Invariant: values are the grid machine's, bit for bit. A value that is its own shadow has none. `share`
lets some program instances stand for all: the first ones of the grid, and the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from blockstep.findings import Span
from blockstep.interp.bounds.ranges import widened
from blockstep.interp.grid import memory as windows
from blockstep.interp.grid.arena import arena
from blockstep.interp.grid.lanes import LEAD, Lanes, Shape
from blockstep.interp.grid.machine import Environment, GridMachine, batches
from blockstep.interp.grid.memory import Touch
from blockstep.interp.memory import Storage
from blockstep.interp.shadows.memory import ShadowMemory
from blockstep.interp.shadows.rules import MOVES, Found, real, rounds_inputs, settled
from blockstep.interp.shadows.tally import SAMPLE, Made, Place, Tally, left
from blockstep.ir import Operation
from blockstep.language.op import Family
from blockstep.language.types import dtype
from blockstep.options import Program

_STRETCHES = frozenset({Family.ELEMENTWISE, Family.SELECT})
_LOADS = frozenset({"load", "atomic_load"})
_KEEPS = frozenset({"select", "hint"})  # they make nothing


@dataclass(slots=True, eq=False)
class ShadowMachine(GridMachine):
    """The grid machine with shadows of float values."""

    tally: Tally = field(default_factory=Tally)
    shadows: ShadowMemory = field(default_factory=ShadowMemory)
    measured: int = 0
    _touch: Touch | None = None  # the access of the operation that is executed
    _old: Any = None  # what an atomic finds, lane by lane
    _floats: dict[Operation, bool] = field(default_factory=dict)  # whether shadows go through it

    def run_some(self, share: float) -> None:
        """Program instances up to a share of them (1: all), in order. Raises Suspicion where the step
        machine is needed."""
        boxes = list(spread(self.grid, share, self._programs_a_batch()))
        self.heard = self._hear
        with arena():
            for _, lead in boxes:
                self.measured += lead[0] * lead[1] * lead[2]
            self._run(boxes)

    def _hear(self, kind: str, access: Touch) -> None:
        self._touch = access
        if kind == "atomic":
            item = np.dtype(f"u{access.itemsize}")
            self._old = access.storage.typed(item)[access.active().reshape(-1)]

    def _operation(self, operation: Operation, environment: Environment) -> None:
        GridMachine._operation(self, operation, environment)
        follows = self._floats.get(operation)
        if follows is None:
            follows = self._floats[operation] = _has_floats(operation)
        if not follows:
            return
        operands = self._operands(operation, environment)
        results = [environment[r] for r in operation.results]
        if operation.op.family is Family.MEMORY:
            self._access(operation, operands, results)
        else:
            self._follow(operation, operands, results)

    # Memory

    def _access(
        self, operation: Operation, operands: tuple[Any, ...], results: list[Lanes]
    ) -> None:
        access, kind = self._touch, operands[0].type.scalar.element_ty
        assert access is not None
        if 0 in access.block:
            if operation.name in _LOADS:
                self._load(operation, access, kind, operands, results[0])
            return
        if not kind.is_floating():
            if operation.name not in _LOADS and self.shadows.cells.get(access.storage.base):
                self.shadows.store(access, kind, None)
        elif operation.name in _LOADS:
            self._load(operation, access, kind, operands, results[0])
        elif operation.name == "atomic_rmw":
            given = access.on(self._part(access, _exact(operands[1]))).reshape(-1)
            old = widened(self._old.view(kind.numpy), kind)
            index = access.active().reshape(-1)
            how = operation.attributes["combine"]
            self.shadows.combine(access.storage, index, kind, given, how, old)
            if how == "add" and index.size:
                self._left(operation, access.storage, index, kind)
        elif operation.name in ("store", "atomic_store"):
            self.shadows.store(access, kind, self._part(access, _exact(operands[1])))
        else:  # it compares bits: what it leaves is a new value
            self.shadows.store(access, kind, None)

    def _left(self, operation: Operation, storage: Storage, index: Any, kind: dtype) -> None:
        """What an atomic sum left in memory, compared like the result of an operation."""
        made = left(self.shadows, storage, index, kind, operation.op)
        made.who = lambda flat: self.program_at(
            flat * self._count() // max(index.size, 1), self.lead
        )
        self.tally.add(_place(operation), made)

    def _count(self) -> int:
        return self.lead[0] * self.lead[1] * self.lead[2]

    @staticmethod
    def _part(access: Touch, array: Any) -> Any:
        """Of a block, what an access of a rectangle of it touches."""
        return array if access.whole is None else windows.part(array, access.whole[1] or ())

    def _load(
        self, operation: Operation, access: Touch, kind: dtype, operands: tuple[Any, ...],
        result: Lanes,
    ) -> None:  # fmt: skip
        """Shadows of what was read, of the fill value, and none (NaN) of what nothing defines."""
        other = operands[2] if operation.name == "load" else None
        inner: Any = None
        if 0 not in access.block:
            value = self._part(access, result.full())
            inner = self.shadows.load(access, kind, partial(widened, value, kind))
        partly = access.mask is not None or (access.whole or (None,))[0] not in (None, access.block)
        if not partly:
            result.shadow = inner
            return
        if inner is None and other is not None and other.shadow is None:
            return
        fill = np.nan if other is None else _exact(other)
        found = _exact(result)
        if access.mask is not None:
            shape = np.broadcast_shapes(
                found.shape, access.mask.shape, np.shape(inner), np.shape(fill)
            )
            found = np.where(access.mask, found if inner is None else inner, fill)
            result.shadow = np.broadcast_to(found, shape)
            return
        assert access.whole is not None
        block, box = access.whole
        shape = np.broadcast_shapes(found.shape, np.shape(fill), found.shape[:LEAD] + block)
        made = np.array(np.broadcast_to(fill, shape))
        if 0 not in access.block:
            lead = np.broadcast_shapes(
                shape[:LEAD], (found if inner is None else inner).shape[:LEAD]
            )
            made = np.array(np.broadcast_to(made, lead + block))
            windows.part(made, box or ())[...] = (
                windows.part(found, box or ()) if inner is None else inner
            )
        result.shadow = made

    # Values

    def _follow(
        self, operation: Operation, operands: tuple[Any, ...], results: list[Lanes]
    ) -> None:
        op = operation.op
        given = [x for x in operands if x is not None]
        if not given or any(r in given for r in results):
            return
        shadowed = any(x.shadow is not None for x in given)
        if not shadowed and (op.family in MOVES or not results[0].type.scalar.is_floating()):
            return
        wide = op.family in _STRETCHES
        reals = [_exact(x, not wide) for x in given]
        if not wide:
            reals = _one_lead(reals)
        attributes = {k: v for k, v in operation.attributes.items() if k != "operand_slots"}
        found = real(op, attributes, reals)
        if found is None:
            return
        for k, result in enumerate(results):
            shadow = found[k] if isinstance(found, tuple) else found
            if op.family in MOVES or op.name in _KEEPS:
                result.shadow = np.asarray(shadow)
            else:
                self._take(operation, given, result, np.asarray(shadow), attributes, reals)

    def _take(
        self, operation: Operation, given: Sequence[Lanes], result: Lanes, shadow: Any,
        attributes: Any, reals: list[Any],
    ) -> None:  # fmt: skip
        op, kind = operation.op, result.type.scalar
        value = result.data() if op.family in _STRETCHES else result.full()
        shape = np.broadcast_shapes(value.shape, shadow.shape)
        value, shadow = np.broadcast_to(value, shape), np.broadcast_to(shadow, shape)
        count = self._count() * int(np.prod(result.shape, dtype=int))
        wide = op.family in _STRETCHES

        def values() -> list[Any]:
            held = [_real(x, x.data() if wide else x.full()) for x in given]
            return held if wide else _one_lead(held)

        made = Made(
            op, attributes, kind, value, shadow, reals, values,
            lambda flat: self.program_at(flat, shape), result.shape,
            any(x.shadow is not None for x in given), _cut(shape), max(count // max(shadow.size, 1), 1),
        )  # fmt: skip
        self._keep(operation, given, made, result)

    def _keep(
        self, operation: Operation, given: Sequence[Lanes], made: Made, result: Lanes
    ) -> None:
        told: Found = settled(
            made.op, made.attributes, made.kind, made.value, made.shadow, made.reals
        )
        if told.differs is not None:
            self.tally.decide(_place(operation), made, told.differs)
        if told.shadow is None:
            return
        made.shadow = told.shadow
        note = rounds_inputs(made.op, made.attributes, [x.type.scalar for x in given])
        seen = self.tally.add(_place(operation), made, note)
        if seen.worst or (seen.special and not _equal(made.wide, made.shadow)):
            result.shadow = made.shadow

    def program_at(self, flat: int, shape: Shape) -> Program:
        """The program instance of a flat index into an array that leads with the batch."""
        lead = np.unravel_index(flat, shape)[:LEAD]
        at = tuple(min(int(i), n - 1) for i, n in zip(lead, self.lead, strict=True))
        z, y, x = (
            int(np.broadcast_to(c, self.lead)[at]) if np.ndim(c) else int(c)
            for c in self.coordinates
        )
        return x, y, z


def _has_floats(operation: Operation) -> bool:
    """Whether an operation may have to do with shadows."""
    if operation.regions:
        return False
    if operation.op.family is Family.MEMORY:
        return True
    return any(v.type.scalar.is_floating() for v in (*operation.operands, *operation.results))


def _exact(x: Lanes, full: bool = False) -> Any:
    """The shadow of a value: itself, if it has none."""
    if x.shadow is None:
        return _real(x, x.full() if full else x.data())
    return _full(x, x.shadow) if full else x.shadow


def _cut(shape: Shape) -> Any:
    """Takes some program instances of an array over a batch: a sample of a large result."""
    size = int(np.prod(shape, dtype=int))
    if size <= SAMPLE:
        return None
    axis = max(range(LEAD), key=lambda k: shape[k])
    most = max(1, shape[axis] * SAMPLE // size)

    def cut(array: Any) -> Any:
        if array.ndim < LEAD or array.shape[axis] == 1:
            return array
        return array[(slice(None),) * axis + (slice(0, most),)]

    return cut


def spread(grid: tuple[int, int, int], share: float, most: int) -> Sequence[tuple[Shape, Shape]]:
    """Boxes of the grid that hold about a share of its program instances: the first ones and the last,
    since few large boxes cost less than many small ones."""
    if share >= 1:
        return list(batches(grid, most))
    total = grid[0] * grid[1] * grid[2]
    boxes = list(batches(grid, min(most, max(1, int(total * share / 2)))))
    return boxes if len(boxes) < 3 else [boxes[0], boxes[-1]]


def _place(operation: Operation) -> Place:
    location = operation.location
    return (Span("", 0), ()) if location is None else (location.span, location.callers)


def _real(x: Lanes, data: Any) -> Any:
    return widened(data, x.type.scalar) if x.type.scalar.is_floating() else np.asarray(data)


def _full(x: Lanes, shadow: Any) -> Any:
    if shadow.shape[LEAD:] == x.shape:
        return shadow
    return np.broadcast_to(shadow, shadow.shape[:LEAD] + x.shape)


def _one_lead(arrays: list[Any]) -> list[Any]:
    """Operations that are not elementwise do not stretch leading axes."""
    leads = [a.shape[:LEAD] for a in arrays]
    lead = np.broadcast_shapes(*leads)
    return [
        a if a.shape[:LEAD] == lead else np.broadcast_to(a, lead + a.shape[LEAD:]) for a in arrays
    ]


def _equal(value: Any, shadow: Any) -> bool:
    return bool(np.array_equal(np.broadcast_to(value, shadow.shape), shadow, equal_nan=True))


__all__ = ["ShadowMachine", "spread"]
