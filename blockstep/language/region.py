"""Regions: a scalar function as a straight line of operations.

`tl.reduce`, `tl.associative_scan` and `tl.map_elementwise` take *any* function of scalars. A region
is that function recorded once for its operand types by running it under a machine that computes
nothing. Invariant: values are numbered, inputs first, then the results of the operations in
order, and every operation is pure and elementwise, so the region can be applied to whole blocks
by calling the operations' meanings. A function that branches on a value or has effects cannot be
recorded; it is run scalar by scalar instead (`blockstep.language.sequence`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from blockstep.language.constant import unwrap
from blockstep.language.op import Family, Op, machine
from blockstep.language.types import dtype
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple

_PURE = (Family.ELEMENTWISE, Family.SELECT, Family.SOURCE)


class Untraceable(Exception):
    """The function cannot be recorded as a straight line of pure operations."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a region; `operands` are numbers of earlier values."""

    op: Op
    operands: tuple[int, ...]
    attributes: Mapping[str, Any]
    types: tuple[dtype, ...]


@dataclass(frozen=True, eq=False)
class Region:
    """A function of scalars: input types, operations, and the numbers of the returned values."""

    inputs: tuple[dtype, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[int, ...]
    bundled: bool = False  # the function returned a tuple
    _steps: list[Any] = field(default_factory=list, repr=False)

    @property
    def types(self) -> tuple[dtype, ...]:
        """The types of the returned values."""
        known = [*self.inputs, *(t for operation in self.operations for t in operation.types)]
        return tuple(known[i] for i in self.outputs)

    @cached_property
    def single(self) -> Operation | None:
        """The operation, if the region is exactly `op(a, b)` of its two inputs."""
        if len(self.inputs) == 2 and self.outputs == (2,) and len(self.operations) == 1:
            (only,) = self.operations
            return only if only.operands == (0, 1) else None
        return None

    def apply(self, *arrays: Any) -> list[Any]:
        """The function on whole arrays. A constant result comes back as a scalar."""
        steps = self._steps or self._prepare()
        values = list(arrays)
        for run, picked in steps:
            found = run(*[values[i] for i in picked])
            if type(found) is tuple:
                values.extend(found)
            else:
                values.append(found)
        return [values[i] for i in self.outputs]

    def _prepare(self) -> list[Any]:
        """Each meaning with its attributes bound; what has no operands is evaluated here."""
        for operation in self.operations:
            run = _bound(operation.op.meaning, operation.attributes)
            if not operation.operands:
                run = _always(run())
            self._steps.append((run, operation.operands))
        return self._steps


def _bound(meaning: Any, attributes: Mapping[str, Any]) -> Callable[..., Any]:
    if not attributes:
        return meaning  # type: ignore[no-any-return]
    fixed = dict(attributes)
    return lambda *operands: meaning(*operands, **fixed)


def _always(value: Any) -> Callable[..., Any]:
    return lambda: value


@dataclass(frozen=True, slots=True)
class _Slot:
    """What a recorded value holds instead of numbers: whose it is, and which."""

    recorder: Recorder
    number: int


class Recorder:
    """The machine that writes operations down. Everything but pure operations on its own scalars
    raises Untraceable."""

    def __init__(self, inputs: tuple[dtype, ...], outer: Any) -> None:
        self.operations: list[Operation] = []
        self.pending: list[Any] = []
        self.count = 0
        self._outer = outer
        self.arguments = tuple(self._value(t) for t in inputs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._outer, name)

    def _value(self, type: dtype) -> tensor:
        self.count += 1
        return tensor(_Slot(self, self.count - 1), type)

    def number(self, x: Any) -> int:
        """Which value of this region `x` is."""
        slot = getattr(x, "handle", None)
        if not isinstance(slot, _Slot) or slot.recorder is not self:
            raise Untraceable("a value from outside of the function")
        return slot.number

    def emit(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        if op.meaning is None or op.family not in _PURE:
            raise Untraceable(op.name)
        numbers = tuple(self.number(x) for x in operands)
        found = op.rule(*[x.type for x in operands], **attributes)
        types = found if isinstance(found, tuple) else (found,)
        if any(t.is_block() for t in types):
            raise Untraceable("a block")
        self.operations.append(Operation(op, numbers, attributes, types))
        values = tuple(self._value(t) for t in types)
        return values if isinstance(found, tuple) else values[0]

    def truth(self, x: Any, kind: str) -> bool:
        raise Untraceable("a branch on a run-time value")

    def loop_bound(self, x: Any) -> int:
        raise Untraceable("a loop over a run-time value")


def results_of(returned: Any) -> tuple[Any, ...]:
    """What a scalar function returned, always as a tuple."""
    returned = unwrap(returned)
    return tuple([unwrap(r) for r in returned]) if is_tuple(returned) else (returned,)


def is_tuple(returned: Any) -> bool:
    """Whether a scalar function returned several values rather than one."""
    return isinstance(returned, (tuple, list, tl_tuple))


def as_type(x: Any, wanted: dtype) -> tensor:
    """One result of a combine function as a scalar of the type of the value it replaces.

    A Python number takes that type; integers may differ in signedness only. Anything else is a
    TypeError: the language compares the two types and rejects the function."""
    from blockstep.language.casting import bitcast
    from blockstep.language.creation import scalar_constant

    if not isinstance(x, tensor):
        return scalar_constant(x, wanted)
    found = x.type
    if found is wanted:
        return x
    if found.is_int() and wanted.is_int() and found.int_bitwidth == wanted.int_bitwidth:
        return bitcast(x, wanted)
    raise TypeError(
        f"the combine function returns {found} where it was given {wanted}; "
        "a combine function returns the types of its operands"
    )


def trace(function: Callable[..., Any], inputs: tuple[dtype, ...], wanted: Any = None) -> Region:
    """`function` recorded for scalars of the types `inputs`; `wanted` are the types its results
    must have, or None for any. Raises Untraceable."""
    recorder = Recorder(inputs, machine.get(None))
    token = machine.set(recorder)
    try:
        value = function(*recorder.arguments)
        returned = results_of(value)
        if wanted is not None:
            check_count(returned, wanted)
            returned = tuple(as_type(r, t) for r, t in zip(returned, wanted, strict=True))
        outputs = tuple(recorder.number(_scalar(r)) for r in returned)
    finally:
        machine.reset(token)
    return Region(inputs, tuple(recorder.operations), outputs, is_tuple(value))


def _scalar(x: Any) -> Any:
    from blockstep.language.promotion import to_tensor

    return to_tensor(x)


def check_count(returned: tuple[Any, ...], wanted: tuple[dtype, ...]) -> None:
    """Raises TypeError unless a combine function returned one value for each it replaces."""
    if len(returned) != len(wanted):
        raise TypeError(
            f"the combine function returns {len(returned)} values for {len(wanted)} inputs"
        )


_traced: WeakKeyDictionary[Any, dict[Any, Region | None]] = WeakKeyDictionary()


def region_of(
    function: Callable[..., Any], inputs: tuple[dtype, ...], wanted: tuple[dtype, ...] | None
) -> Region | None:
    """The region of `function` for these types, recorded at its first use; None if it cannot be."""
    found: Region | None
    known = _traced.get(function)
    if known is None:
        known = _traced[function] = {}
    key = (inputs, wanted)
    try:
        found = known[key]
    except KeyError:
        try:
            found = trace(function, inputs, wanted)
        except Untraceable:
            found = None
    if found is None:
        compiles = getattr(machine.get(None), "straight_line", None)
        if compiles is not None:  # a compiler turns branches into selections
            return compiles(function, inputs, wanted)  # type: ignore[no-any-return]
    known[key] = found
    return found


def spread(found: Any, like: Any) -> Any:
    """A region's result in the shape of the array it replaces (a constant is repeated)."""
    return found if np.shape(found) == np.shape(like) else np.broadcast_to(found, np.shape(like))


__all__ = ["Operation", "Recorder", "Region", "Untraceable", "region_of", "trace"]
