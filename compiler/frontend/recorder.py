"""The machine that records: every operation that a `tl` function emits becomes IR.

A value's `handle` is the IR value. Operations are appended to the region that is open; what an
operation may not do while a kernel is compiled (deciding a Python branch on a run-time value) is a
language error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from blockstep.ir import CONDITION, WHILE, YIELD, Function, Location, Operation, Region, Value
from blockstep.language import types as ty
from blockstep.language.op import Op
from blockstep.language.value import tensor

_FOREIGN = frozenset({ty.float8e4b8, ty.float8e5b16})  # no NVIDIA device has them


class NotConstant(TypeError):
    """A run-time value stands where the language needs a compile-time one."""


class Recorder:
    """Appends operations to `region`, each with the location that is set."""

    def __init__(self) -> None:
        self.region = Region()
        self.location: Location | None = None
        self.pending: list[Any] = []
        self.straight_line: Callable[..., Any] | None = None  # see `combine`
        self.kept: dict[Any, Any] = {}  # functions kept as calls
        self.callees: list[Function] = []  # the same, callees of callees first
        self.num_warps = 4
        self.functions: list[Any] = []  # those that were compiled into the kernel
        self.expanded: dict[Any, Any] = {}  # `x += y` as the expression `x + y`
        self.problems: dict[int, dict[int, Any]] = {}  # what the language rejects, by function

    @contextmanager
    def into(self, region: Region) -> Iterator[Region]:
        """Records into `region` inside the `with`."""
        before, self.region = self.region, region
        try:
            yield region
        finally:
            self.region = before

    def append(
        self, op: Op, operands: list[Value], types: list[ty.dtype], attributes: dict[str, Any],
        regions: list[Region] | None = None,
    ) -> Operation:  # fmt: skip
        """Appends one operation to the open region."""
        made = Operation(op, operands, types, attributes, regions or (), self.location)
        return self.region.append(made)

    def emit(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """One operation; absent operands are left out, and `operand_slots` says which are there."""
        present = [x for x in operands if x is not None]
        kind = op.rule(*[x.type for x in present], **attributes)
        kinds = list(kind) if isinstance(kind, tuple) else [] if kind is ty.void else [kind]
        for one in kinds:
            if one.scalar in _FOREIGN:
                raise ValueError(
                    f"type {one.scalar} not supported in this architecture. The supported fp8 "
                    "dtypes are fp8e4b15, fp8e4nv, fp8e5"
                )
        told = attributes
        if len(present) != len(operands):
            told = {**attributes, "operand_slots": tuple(x is not None for x in operands)}
        made = self.append(op, [x.handle for x in present], kinds, told)
        results = [tensor(value, value.type) for value in made.results]
        if isinstance(kind, tuple):
            return tuple(results)
        return results[0] if results else None

    def repeat(self, start: Any, test: Callable[..., Any], again: Callable[..., Any]) -> Any:
        """A `while` that a language function writes: from `start`, `again` as long as `test`."""
        first, second = Region([start.type]), Region([start.type])
        with self.into(first):
            inside = tensor(first.arguments[0], start.type)
            self.append(CONDITION, [test(inside).handle, inside.handle], [], {})
        with self.into(second):
            value = again(tensor(second.arguments[0], start.type))
            self.append(YIELD, [value.handle], [], {})
        made = self.append(WHILE, [start.handle], [start.type], {}, [first, second])
        return tensor(made.results[0], start.type)

    def truth(self, x: Any, kind: str) -> NoReturn:
        """There is no truth of a run-time value while a kernel is compiled."""
        raise NotConstant(f"a run-time value of type {x.type} cannot decide what is compiled")

    def loop_bound(self, x: Any) -> int:
        """A loop's bound as a number."""
        if isinstance(x, tensor):
            raise NotConstant("this loop's bounds must be compile-time values")
        return int(x)
