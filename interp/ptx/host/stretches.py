"""Stretches of a block that only compute, as one step each that runs host code.

A stretch takes registers and leaves registers, in the shapes that NumPy's functions would give them
(`text`): what is alike for all threads stays one element. For each combination of such shapes
its code is made when it first comes, a few combinations at most; other ones run as NumPy.

Invariant: the bits are those of the instructions' own functions.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np

from blockstep.interp.ptx.frame import Frame
from blockstep.interp.ptx.host.build import Call, built
from blockstep.interp.ptx.host.text import COLUMN, ROW, Function, class_of, shape_of
from blockstep.interp.ptx.isa.trace import Graph, Kind, Traced, Untraceable
from blockstep.interp.ptx.program import TRASH, Code, Program
from blockstep.interp.ptx.steps import Plain, Step

HOT = 1 << 20  # threads that run a stretch as NumPy in about the time that making its code takes
_LEAST = 4  # operations that are worth a call
_MOST = 8  # combinations of shapes
_UNKNOWN: Any = object()
_look = attrgetter("shape", "strides")
_Entry = tuple[Step, tuple[int, ...]]


def with_host_code(program: Program) -> Program:
    """The program with its stretches as host code."""
    return replace(program, codes=[_with_stretches(program, code) for code in program.codes])


def _with_stretches(program: Program, code: Code) -> Code:
    made = replace(code, steps=[], places=[], plain=[])
    stretch = _Stretch(program)
    for entry, plain, place in zip(code.steps, code.plain, code.places, strict=True):
        if plain is not None and stretch.takes(plain, entry):
            stretch.places.append(place)
            continue
        stretch.close(made)
        stretch = _Stretch(program)
        if plain is not None and stretch.takes(plain, entry):
            stretch.places.append(place)
        else:
            made.steps.append(entry)
            made.places.append(place)
    stretch.close(made)
    return made


class _Stretch:
    """A stretch while its steps are collected: what each slot has by now, as a trace."""

    def __init__(self, program: Program) -> None:
        self.program, self.graph = program, Graph()
        self.values: dict[int, Any] = {}  # Traced, or an array that is one number
        self.inputs: list[int] = []
        self.entries: list[_Entry] = []
        self.places: list[Any] = []
        self.written: set[int] = set()
        self.forgotten: set[int] = set()

    def takes(self, plain: Plain, entry: _Entry) -> bool:
        """Put a step at the end, if it can be traced."""
        known = len(self.inputs)
        try:
            with np.errstate(all="ignore"):
                results = self._results(plain)
        except Untraceable:
            for slot in self.inputs[known:]:
                del self.values[slot]
            del self.inputs[known:]
            return False
        for slot, value in results:
            self.values[slot] = value
            self.written.add(slot)
            self.forgotten.discard(slot)
        self.forgotten.update(entry[1])
        self.entries.append(entry)
        return True

    def _results(self, plain: Plain) -> list[tuple[int, Any]]:
        found = plain.compute(*[self._value(s) for s in plain.sources])
        ends = zip(
            plain.slots, found if isinstance(found, tuple) else (found,), plain.fits, strict=True
        )
        results = []
        for slot, value, fit in ends:
            if slot != TRASH:
                results.append((slot, self._put(plain, slot, value if fit is None else fit(value))))
        return results

    def _put(self, plain: Plain, slot: int, value: Any) -> Any:
        if plain.guard is not None:
            if slot in self.program.unwritten:  # whether it was written is told by its array
                raise Untraceable("a register that may not be written")
            holds = self._value(plain.guard)
            value = np.where(~holds if plain.negated else holds, value, self._value(slot))
        if value.dtype != self.program.kinds[slot]:
            raise Untraceable(f"{value.dtype} for {self.program.kinds[slot]}")
        return value

    def _value(self, slot: int) -> Any:
        found = self.values.get(slot)
        if found is None:
            found = self.program.constants.get(slot)
        if found is None:
            kind = self.program.kinds[slot]
            found = self.graph.add("input", (), kind, len(self.inputs))
            self.inputs.append(slot)
        self.values[slot] = found
        return found

    def close(self, code: Code) -> None:
        """Put the stretch into a block: as one step, or as it was where that does not pay."""
        left = sorted(self.written - self.forgotten)
        ends = {slot: self.values[slot] for slot in left}
        traced = {s: v for s, v in ends.items() if isinstance(v, Traced) and v.node.op != "input"}
        work = sum(1 for node in self.graph.nodes if node.op not in ("input", "constant", "view"))
        if work < _LEAST or not traced:
            code.steps += self.entries
            code.places += self.places
            return
        moved, fixed = [], []
        for slot, value in ends.items():
            if not isinstance(value, Traced):
                fixed.append((slot, value))
            elif slot not in traced:
                moved.append((slot, self.inputs[value.node.value]))
        run = Hosted(
            self.graph, tuple(self.inputs), [self.program.kinds[s] for s in self.inputs],
            tuple(traced), [v.number for v in traced.values()], moved, fixed, self.entries,
        )  # fmt: skip
        code.steps.append((run, tuple(self.forgotten - {TRASH})))
        code.places.append(self.places[0])


@dataclass(slots=True)
class _Plan:
    """How a stretch runs on arrays of certain shapes: the shapes and dtypes of what it makes."""

    call: Call
    rows: int
    columns: int
    outputs: list[tuple[tuple[int, int], Kind]]
    objects: Any  # a type: so many pointers


@dataclass(slots=True)
class Hosted:
    """The step that runs a stretch. `moved` are slots that get another name of an input, `fixed`
    ones that get a constant."""

    graph: Graph
    inputs: tuple[int, ...]
    kinds: list[Kind]
    slots: tuple[int, ...]
    results: list[int]
    moved: list[tuple[int, int]]
    fixed: list[tuple[int, Any]]
    entries: list[_Entry]  # the same as NumPy
    threads: int = 0  # that have run it as NumPy
    plans: dict[Any, Any] = field(default_factory=dict)  # None: as NumPy
    functions: dict[Any, Function] = field(default_factory=dict)

    def __call__(self, frame: Frame) -> None:
        regs = frame.regs
        given = [regs[s] for s in self.inputs]
        key = (frame.shape, *map(_look, given))
        plan = self.plans.get(key, _UNKNOWN)
        if plan is _UNKNOWN:
            self.threads += frame.size
            if self.threads < HOT:
                self._as_numpy(frame)
                return
            plan = self._plan(key, frame.shape, given)
        if plan is None:
            self._as_numpy(frame)
            return
        made = [np.empty(shape, kind) for shape, kind in plan.outputs]
        plan.call(plan.objects(*map(id, given), *map(id, made)), plan.rows, plan.columns)
        moved = [regs[source] for _, source in self.moved]
        for (slot, _), value in zip(self.moved, moved, strict=True):
            regs[slot] = value
        for slot, value in self.fixed:
            regs[slot] = value
        for slot, value in zip(self.slots, made, strict=False):
            regs[slot] = value

    def _as_numpy(self, frame: Frame) -> None:
        regs = frame.regs
        for run, dead in self.entries:
            run(frame)
            for slot in dead:
                regs[slot] = None

    def _plan(self, key: Any, shape: tuple[int, int], given: Sequence[Any]) -> _Plan | None:
        if len(self.plans) >= 64:
            self.plans.clear()
        plan = self.plans[key] = self._made(shape, given)
        return plan

    def _made(self, shape: tuple[int, int], given: Sequence[Any]) -> _Plan | None:
        assert [x.dtype for x in given] == self.kinds
        rows, columns = shape
        classes = [class_of(x) for x in given]
        full = all(
            not c or (c == ROW | COLUMN and x.flags.c_contiguous)
            for c, x in zip(classes, given, strict=True)
        )
        flat = full and rows > 1 and columns > 1
        if flat:  # one loop does
            classes = [COLUMN if c else 0 for c in classes]
        if any(min(x.strides) < 0 for x in given):
            return None
        steps = [x.strides[1] if c & COLUMN else 0 for c, x in zip(classes, given, strict=True)]
        function = self._function(tuple(classes), tuple(steps))
        if function is None:
            return None
        outputs = []
        for node in function.outputs:
            own = function.classes[node]
            own = ROW | COLUMN if flat and own else own
            outputs.append((shape_of(own, rows, columns), self.graph.nodes[node].kind))
        objects = ctypes.c_void_p * (len(given) + len(outputs))
        if flat:
            rows, columns = 1, rows * columns
        return _Plan(built(function.text), rows, columns, outputs, objects)

    def _function(self, classes: tuple[int, ...], steps: tuple[int, ...]) -> Function | None:
        key = classes, steps
        if key not in self.functions:
            if len(self.functions) >= _MOST:
                return None
            self.functions[key] = Function(self.graph, classes, steps, self.results)
        return self.functions[key]
