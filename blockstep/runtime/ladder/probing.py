"""Which operation is the first that goes wrong, where every pass keeps the result and what is
lowered does not.

The kernel is compiled once more with stores behind each operation that the wrong value comes from,
of one program instance, into memory of their own; the grid machine and the ptx machine run it, and
the first operation in program order whose value differs is the one. Of an operation in a loop the
last value counts. Where the stores make the fault go away nothing is found, and the store of the
wrong value stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blockstep import language as tl
from blockstep.compiler.frontend.recorder import Recorder
from blockstep.compiler.passes.inline import Inline
from blockstep.errors import TritonError
from blockstep.findings import Program, Span
from blockstep.interp.bound import Unbounded
from blockstep.ir import Function, Operation, Region, Value
from blockstep.language import types as ty
from blockstep.language.op import machine
from blockstep.language.value import tensor
from blockstep.runtime.arguments import Argument
from blockstep.runtime.arrays import element_type, view_of
from blockstep.runtime.ladder.compiling import Made, PassFailed
from blockstep.runtime.ladder.launch import Launch, take
from blockstep.runtime.ladder.machines import Grid, Ptx
from blockstep.runtime.ladder.rung import Broken, NotRun

MOST_PROBES = 96
MOST_BYTES = 1 << 26
_STORES = frozenset({"store", "atomic_rmw", "atomic_cas", "atomic_store"})


@dataclass(frozen=True, slots=True, eq=False)
class _Probe:
    """One value: the array that it is put into, and what makes it."""

    name: str
    operation: Operation
    kind: ty.dtype  # of an element, as it is stored
    shape: tuple[int, ...]
    array: Any


def first_wrong(
    launch: Launch, made: Made, exact: bool, stored: Span | None, program: Program
) -> Operation | None:
    """The first operation whose value differs in a program instance, of those that the store at a
    place comes from. Memory is afterwards as it was."""
    function = launch.made.clone()
    Inline().apply(function)
    chosen = [o for o in function.walk() if o.name in _STORES]
    here = [o for o in chosen if o.location is not None and o.location.span == stored]
    wanted = _slice(here or chosen)
    probes = list(_laid_out([o for o in function.walk() if o in wanted]))
    if not probes:
        return None
    _insert(function, probes, program, launch.grid)
    try:
        return _compare(_probed(launch, function, probes), made, exact, probes)
    except (TritonError, PassFailed, NotRun, Broken):
        return None
    finally:
        launch.memory.restore()


def _slice(stores: list[Operation]) -> set[Operation]:
    """The operations that the operands of these come from."""
    found: set[Operation] = set()
    left = [v for o in stores for v in o.operands]
    left += [v for o in stores for v in _deciding(o)]
    seen: set[Value] = set()
    while left:
        value = left.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        structure = owner if isinstance(owner, Operation) else owner.parent
        if isinstance(structure, Operation):
            if structure is owner:
                found.add(structure)
            left += structure.operands
            left += [v for region in structure.regions for v in region.terminator.operands]
            left += _deciding(structure)
    return found


def _deciding(operation: Operation) -> list[Value]:
    """What decides whether an operation runs."""
    outer = operation.parent.parent if operation.parent is not None else None
    return [*outer.operands, *_deciding(outer)] if isinstance(outer, Operation) else []


def _laid_out(operations: list[Operation]) -> Iterator[_Probe]:
    """Arrays for the values that can be looked at: numbers, not pointers."""
    count = nbytes = 0
    for operation in operations:
        if len(operation.results) != 1 or operation.regions or operation.name == "constant":
            continue
        kind = operation.results[0].type
        element = ty.int8 if kind.scalar.is_int1() else kind.scalar
        if not _has_arrays(element):
            continue
        shape = tuple(kind.shape)
        array = np.zeros(shape or (1,), element.numpy)
        count, nbytes = count + 1, nbytes + array.nbytes
        if nbytes > MOST_BYTES or count > MOST_PROBES:
            return
        yield _Probe(f"probe {count}", operation, element, shape, array)


def _has_arrays(kind: ty.dtype) -> bool:
    """Whether there are arrays of a type on the host."""
    if kind.is_ptr() or not (kind.is_int() or kind.is_floating()):
        return False
    return element_type(np.dtype(kind.numpy), "") is kind


def _insert(
    function: Function, probes: list[_Probe], program: Program, grid: tuple[int, int, int]
) -> None:
    """Stores behind the operations, on where the program instance is the one."""
    for probe in probes:
        pointer = function.body.add_argument(ty.pointer_type(probe.kind), probe.name)
        recorder, region = Recorder(), Region()
        recorder.location = probe.operation.location
        token = machine.set(recorder)
        try:
            with recorder.into(region):
                _record(probe, pointer, program, grid)
        finally:
            machine.reset(token)
        inside = probe.operation.parent
        assert inside is not None
        at = inside.operations.index(probe.operation) + 1
        for new in region.operations:
            new.parent = inside
        inside.operations[at:at] = region.operations


def _record(probe: _Probe, pointer: Value, program: Program, grid: tuple[int, int, int]) -> None:
    (result,) = probe.operation.results
    value: Any = tensor(result, result.type)
    if result.type.scalar.is_int1():
        value = value.to(ty.int8)
    place: Any = tensor(pointer, pointer.type)
    here: Any = None
    for axis in range(3):
        if grid[axis] > 1:
            same = tl.program_id(axis) == program[axis]
            here = same if here is None else here & same
    if probe.shape:
        place = place + _index(probe.shape)
    if here is not None and probe.shape:
        here = tl.broadcast_to(here, list(probe.shape))
    tl.store(place, value, mask=here)


def _index(shape: tuple[int, ...]) -> Any:
    """The number of every element of a block."""
    total: Any = None
    step = 1
    for axis in reversed(range(len(shape))):
        along: Any = tl.arange(0, shape[axis])
        for other in range(len(shape)):
            if other != axis:
                along = tl.expand_dims(along, other)
        along = tl.broadcast_to(along * step, list(shape))
        total = along if total is None else total + along
        step *= shape[axis]
    return total


def _probed(launch: Launch, function: Function, probes: list[_Probe]) -> Launch:
    """The launch of the kernel with probes."""
    made = take(launch.function, launch.args, launch.kwargs, launch.grid, launch.host)
    more = []
    for probe in probes:
        view = view_of(probe.array, probe.name, made.bound.binding)
        kind = ty.pointer_type(probe.kind)
        more.append(Argument(probe.name, "pointer", probe.array, kind, view))
    bound = replace(made.bound, arguments=(*made.bound.arguments, *more))
    return replace(made, bound=bound, _made=function, _bounds={})


def _compare(launch: Launch, made: Made, exact: bool, probes: list[_Probe]) -> Operation | None:
    compiled = replace(made, launch=launch, _stages=None, _binaries={})
    try:
        Grid("grid", launch.made).run(launch)
        wanted = [probe.array.copy() for probe in probes]
        launch.memory.restore()
        Ptx(compiled, exact).run(launch)
        found = [probe.array.copy() for probe in probes]
    finally:
        launch.memory.restore()
    try:
        bounds = launch.bounds(exact)
    except Unbounded:
        return None
    for probe, right, now in zip(probes, wanted, found, strict=True):
        known = bounds[probe.name]
        if known.judge(right).equal == right.size and known.judge(now).wrong:
            return probe.operation
    return None


__all__ = ["first_wrong"]
