"""Handlers of the operations without a meaning, by name: what the step machine does itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from blockstep.interp import accesses, atomic_accesses, control
from blockstep.interp.forms import Affine
from blockstep.language import types as ty
from blockstep.language.op import Op
from blockstep.language.value import tensor

if TYPE_CHECKING:
    from blockstep.interp.step import StepMachine

Operands = tuple[Any, ...]
Attributes = dict[str, Any]


def _program_id(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> Any:
    return _int32(machine.scheduler.program[attributes["axis"]])


def _num_programs(machine: StepMachine, op: Op, operands: Operands, attributes: Attributes) -> Any:
    return _int32(machine.grid[attributes["axis"]])


def _int32(value: int) -> tensor:
    result = tensor(None, ty.int32)
    result.form, result.bounds = Affine(value, None), (value, value)
    return result


HANDLERS: dict[str, Callable[[StepMachine, Op, Operands, Attributes], Any]] = {
    "program_id": _program_id,
    "num_programs": _num_programs,
    "load": accesses.load,
    "store": accesses.store,
    "atomic_rmw": atomic_accesses.atomic_rmw,
    "atomic_cas": atomic_accesses.atomic_cas,
    "atomic_load": atomic_accesses.atomic_load,
    "atomic_store": atomic_accesses.atomic_store,
    "barrier": control.barrier,
    "assert": control.check,
    "print": control.show,
    "assume": control.assume,
    "hint": control.hint,
}
