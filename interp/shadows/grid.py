"""Shadows on the grid machine: every operation once more in float64, beside what it gave.

Invariant: values are the grid machine's, bit for bit. The cost is bounded by measuring some program
instances: the first ones of the grid, and the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blockstep.findings import Span
from blockstep.interp.bounds.ranges import widened
from blockstep.interp.grid.arena import arena
from blockstep.interp.grid.lanes import LEAD, Lanes, Shape
from blockstep.interp.grid.machine import Environment, GridMachine, batches
from blockstep.interp.grid.memory import Suspicion
from blockstep.interp.memory import Storage, View
from blockstep.interp.shadows.memory import ShadowMemory
from blockstep.interp.shadows.rules import COMPARISONS, real, rounds_inputs
from blockstep.interp.shadows.tally import Made, Place, Tally
from blockstep.ir import Operation
from blockstep.language import types as ty
from blockstep.language.op import Family
from blockstep.options import Program

_MOVES = frozenset({Family.SHAPE, Family.GATHER})
_STRETCHES = frozenset({Family.ELEMENTWISE, Family.SELECT})


@dataclass(slots=True, eq=False)
class ShadowMachine(GridMachine):
    """The grid machine with shadows of float values."""

    tally: Tally = field(default_factory=Tally)
    shadows: ShadowMemory = field(default_factory=ShadowMemory)
    measured: int = 0

    def run_some(self, share: float) -> None:
        """Program instances up to a share of them (1: all), in order. Raises Suspicion where the step
        machine is needed."""
        boxes = list(spread(self.grid, share, self._programs_a_batch()))
        with arena():
            for _, lead in boxes:
                self.measured += lead[0] * lead[1] * lead[2]
            self._run(boxes)

    def _operation(self, operation: Operation, environment: Environment) -> None:
        before = _Memory.of(self, operation, environment)
        GridMachine._operation(self, operation, environment)
        if operation.regions and operation.name in ("if", "for", "while"):
            return
        operands = self._operands(operation, environment)
        if operation.op.family is Family.MEMORY:
            if before is not None:
                before.after(operands, [environment[r] for r in operation.results])
            return
        floats = [x for x in operands if x is not None and x.type.scalar.is_floating()]
        if floats or any(r.type.scalar.is_floating() for r in operation.results):
            self._follow(operation, operands, [environment[r] for r in operation.results])

    def _follow(
        self, operation: Operation, operands: tuple[Any, ...], results: list[Lanes]
    ) -> None:
        op = operation.op
        given = [x for x in operands if x is not None]
        if not given or any(r in given for r in results):
            return
        shadowed = any(x.shadow is not None for x in given)
        if op.family in _MOVES and not shadowed:
            return
        if op.name in COMPARISONS and not shadowed:
            return
        wide = op.family in _STRETCHES
        values = [_real(x, x.data() if wide else x.full()) for x in given]
        reals = [
            v if x.shadow is None else (x.shadow if wide else _full(x, x.shadow))
            for x, v in zip(given, values, strict=True)
        ]
        if not wide:
            values, reals = _one_lead(values), _one_lead(reals)
        attributes = {k: v for k, v in operation.attributes.items() if k != "operand_slots"}
        found = real(op, attributes, reals)
        if found is None:
            return
        local = real(op, attributes, values) if shadowed and op.family not in _MOVES else found
        several = isinstance(found, tuple)
        for k, result in enumerate(results):
            self._take(
                operation, given, result, found[k] if several else found,
                local[k] if several else local, (values, reals),
            )  # fmt: skip

    def _take(
        self, operation: Operation, given: Sequence[Lanes], result: Lanes, shadow: Any, local: Any,
        arrays: tuple[list[Any], list[Any]],
    ) -> None:  # fmt: skip
        op = operation.op
        floating = result.type.scalar.is_floating()
        value = _real(result, result.data())
        if not floating:
            if op.name in COMPARISONS:
                made = self._made(result, value, shadow, local, given, arrays)
                self.tally.decide(op, _place(operation), made)
            return
        if op.family not in _MOVES and op.name not in ("select", "hint"):
            made = self._made(result, value, shadow, local, given, arrays)
            note = rounds_inputs(op, operation.attributes, [x.type.scalar for x in given])
            self.tally.add(op, _place(operation), made, note)
        if shadow is local and op.family not in _MOVES and _equal(value, shadow):
            return
        result.shadow = shadow

    def _made(
        self, result: Lanes, value: Any, shadow: Any, local: Any, given: Sequence[Lanes],
        arrays: tuple[list[Any], list[Any]],
    ) -> Made:  # fmt: skip
        shape = np.broadcast_shapes(np.shape(value), np.shape(shadow))
        defined: Any = None
        for x in (result, *given):
            for mask in x.undefined:
                lanes = mask.data()
                if _broadcasts(lanes, shape):
                    defined = lanes if defined is None else defined & lanes
        return Made(
            result.type.scalar, value, shadow, local, defined, arrays[0], arrays[1],
            lambda flat: self.program_at(flat, shape), result.shape,
        )  # fmt: skip

    def program_at(self, flat: int, shape: Shape) -> Program:
        """The program instance of a flat index into an array that leads with the batch."""
        lead = np.unravel_index(flat, shape)[:LEAD]
        at = tuple(min(int(i), n - 1) for i, n in zip(lead, self.lead, strict=True))
        z, y, x = (
            int(np.broadcast_to(c, self.lead)[at]) if np.ndim(c) else int(c)
            for c in self.coordinates
        )
        return x, y, z


@dataclass(slots=True, eq=False)
class _Memory:
    """An access that is about to happen, and the shadows of what it moves."""

    machine: ShadowMachine
    operation: Operation
    storage: Storage
    size: int
    index: Any  # of each element, broadcast to lead + block
    on: Any
    old: Any = None  # what an atomic finds

    @classmethod
    def of(
        cls, machine: ShadowMachine, operation: Operation, environment: Environment
    ) -> _Memory | None:
        """None for what moves no floats."""
        if operation.regions or operation.op.family is not Family.MEMORY:
            return None
        pointer, *rest = machine._operands(operation, environment)
        kind = pointer.type.scalar.element_ty
        if not kind.is_floating():
            return None
        view = pointer.origin
        if not isinstance(view, View) or view.storage is None:
            raise Suspicion
        mask = rest[0] if operation.name in ("load", "atomic_load") else rest[-1]
        size, shape = kind.itemsize, machine.lead + pointer.shape
        index = np.broadcast_to((pointer.data() - view.storage.base) // size, shape)
        on = None if mask is None else np.broadcast_to(mask.data(), shape)
        made = cls(machine, operation, view.storage, size, index, on)
        if operation.name == "atomic_rmw":
            typed = view.storage.typed(kind.numpy)
            made.old = widened(typed[np.clip(index, 0, len(typed) - 1)], kind)
        return made

    def after(self, operands: tuple[Any, ...], results: list[Lanes]) -> None:
        """Shadows go with what was read or written."""
        name, memory = self.operation.name, self.machine.shadows
        if name in ("load", "atomic_load"):
            (result,) = results
            values = np.broadcast_to(_real(result, result.data()), self.index.shape)
            found = memory.read(self.storage, self.index, self.size, values)
            if found is not None:
                result.shadow = found if self.on is None else np.where(self.on, found, values)
            return
        value = operands[1]
        active = ... if self.on is None else self.on
        index = self.index[active]
        whole = _real(value, value.data()) if value.shadow is None else value.shadow
        narrow = operands[0].type.scalar.element_ty
        if value.type.scalar.is_floating():
            whole = np.broadcast_to(whole, self.index.shape)[active]
        else:
            whole = np.broadcast_to(_real(value, value.data()), self.index.shape)[active]
            whole = whole.astype(np.float64)
        if name == "atomic_rmw" and self.old is not None and narrow.is_floating():
            how = self.operation.attributes["combine"]
            memory.combine(self.storage, index, self.size, whole, how, self.old[active])
            self._tell(index, narrow, how, whole)
        elif name in ("store", "atomic_store"):
            memory.write(self.storage, index, self.size, whole)
        else:
            memory.write(self.storage, index, self.size, None)

    def _tell(self, index: Any, kind: ty.dtype, how: str, given: Any) -> None:
        """What an atomic left in memory, compared like the result of an operation."""
        value = widened(self.storage.typed(kind.numpy)[index], kind)
        shadow = self.machine.shadows.read(self.storage, index, self.size, value)
        if how != "add" or shadow is None:
            return
        made = Made(
            kind, value, shadow, shadow, None, [np.asarray(given)], [np.asarray(given)],
            lambda flat: self.machine.program_at(0, self.machine.lead), (),
        )  # fmt: skip
        self.machine.tally.add(self.operation.op, _place(self.operation), made)


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


def _broadcasts(array: Any, shape: Shape) -> bool:
    try:
        return np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        return False


def _equal(value: Any, shadow: Any) -> bool:
    return bool(np.array_equal(np.broadcast_to(value, shadow.shape), shadow, equal_nan=True))


__all__ = ["ShadowMachine", "spread"]
