"""Running a straight line of instructions on arrays of register words."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.errors import UnsupportedError
from blockstep.language.assembly import instructions as table
from blockstep.language.assembly.parser import Instruction, Operand, parse
from blockstep.language.assembly.words import (
    TYPES,
    immediate,
    is_float,
    is_type,
    pair_of,
    value,
    word,
)
from blockstep.language.numerics import integers

_UNKNOWN = frozenset({"rz", "rm", "rp", "sat"})  # of float arithmetic; `cvt` rounds as it says
_ORDER_ONLY = ("fence", "membar", "griddepcontrol", "bar", "barrier", "nanosleep", "prefetch")


@dataclass(frozen=True, slots=True)
class Program:
    """Inline PTX: its text and its constraints, as LLVM writes them."""

    text: str
    constraints: str

    @property
    def outputs(self) -> int:
        return sum(c.startswith("=") for c in self._constraints())

    def _constraints(self) -> list[str]:
        found = [c.strip() for c in self.constraints.split(",")]
        return [c for c in found if c and not c.startswith("~")]

    def run(self, inputs: list[Any]) -> list[Any]:
        """The output words for input words. Raises UnsupportedError for what it cannot run."""
        registers: dict[str, Any] = {}
        outputs = self.outputs
        wanted = self._constraints()[outputs:]
        if len(wanted) != len(inputs):
            raise ValueError(
                f"inline assembly has {len(wanted)} input constraints for {len(inputs)} registers"
            )
        for i, (constraint, x) in enumerate(zip(wanted, inputs, strict=True)):
            registers[f"${outputs + i}"] = x
            if constraint.isdigit():  # the same register as an output
                registers[f"${constraint}"] = x
        for instruction in parse(self.text):
            _Step(instruction, registers).run()
        zero = np.zeros((), np.uint64)
        return [registers.get(f"${i}", zero) for i in range(outputs)]


@dataclass(frozen=True, slots=True)
class _Step:
    """One instruction about to run."""

    instruction: Instruction
    registers: dict[str, Any]

    def run(self) -> None:
        if self.instruction.name in _ORDER_ONLY:
            return
        handler = _HANDLERS.get(self.instruction.name)
        if handler is None or any("[" in str(o) for o in self.instruction.operands):
            raise self.unsupported()
        rounded = self.instruction.name != "cvt" and _UNKNOWN.intersection(self.instruction.parts)
        if rounded and is_float(self.types[-1]):
            raise self.unsupported()
        try:
            handler(self)
        except (KeyError, IndexError, ValueError) as error:
            raise self.unsupported() from error

    def unsupported(self) -> UnsupportedError:
        return UnsupportedError(
            f"inline PTX `{self.instruction.text}`: only register instructions "
            "in a straight line are supported"
        )

    @property
    def types(self) -> list[str]:
        return [p for p in self.instruction.parts if is_type(p)]

    def read_word(self, operand: Operand, kind: str) -> Any:
        if isinstance(operand, tuple):
            return self.read_vector(operand, kind)
        found = self.registers.get(operand)
        if found is None:
            found = immediate(operand, kind)
        if found is None:
            found = _special(operand)
        if found is None:
            raise KeyError(operand)
        return found

    def read_vector(self, operand: tuple[str, ...], kind: str) -> Any:
        bits = TYPES[kind][1] // len(operand)
        total = np.zeros((), np.uint64)
        for i, name in enumerate(operand):
            part = value(self.read_word(name, f"b{bits}"), f"b{bits}").astype(np.uint64)
            total = total | part << np.uint64(i * bits)
        return total

    def read(self, index: int, kind: str) -> Any:
        return value(self.flushed(self.instruction.operands[index], kind), kind)

    def flushed(self, operand: Operand, kind: str) -> Any:
        """The word of an operand, where `.ftz` takes subnormal numbers for zeros."""
        found = self.read_word(operand, kind)
        return _flushed(found) if kind == "f32" and self.flushes else found

    @property
    def flushes(self) -> bool:
        return "ftz" in self.instruction.parts

    def write(self, result: Any, operand: Operand | None = None) -> None:
        """Stores words; a guard keeps the old word where it does not hold."""
        if self.flushes and self.types[0] == "f32" and self.instruction.name != "setp":
            result = _flushed(result)
        target = self.instruction.operands[0] if operand is None else operand
        if isinstance(target, tuple):
            raise KeyError(target)
        guard = self.instruction.guard
        if guard is not None:
            holds = (self.registers[guard] != 0) != self.instruction.negated
            old = self.registers.get(target, np.zeros((), np.uint64))
            result = np.where(holds, result, old)
        self.registers[target] = result


def _flushed(words: Any) -> Any:
    """Float32 numbers with a zero for each subnormal one, of its sign."""
    sign = words & np.uint64(0x80000000)
    return np.where(words & np.uint64(0x7F800000) == 0, sign, words)


def _special(name: str) -> Any:
    if name in ("%globaltimer", "%clock64"):
        return np.asarray(np.uint64(time.perf_counter_ns()))
    return None


def _move(step: _Step) -> None:
    kind = step.types[0]
    target, source = step.instruction.operands
    found = word(value(step.read_word(source, kind), kind), kind)
    if not isinstance(target, tuple):
        return step.write(found)
    bits = TYPES[kind][1] // len(target)
    for i, name in enumerate(target):
        part = found >> np.uint64(i * bits)
        step.write(word(value(part, f"b{bits}"), f"b{bits}"), name)


def _each(compute: Callable[..., Any], arity: int) -> Callable[[_Step], None]:
    def handler(step: _Step) -> None:
        kind = step.types[-1]
        operands = [step.read(i + 1, kind) for i in range(arity)]
        found = compute(*operands)
        step.write(word(np.asarray(found).astype(TYPES[pair_of(kind) or kind][0]), kind))

    return handler


def _extremum(step: _Step) -> None:
    kind = step.types[-1]
    compute = table.extremum(step.instruction.name, step.instruction.parts, kind)
    _each(compute, 2)(step)


def _multiply(step: _Step) -> None:
    parts, kind = step.instruction.parts, step.types[-1]
    found = table.multiply(step.read(1, kind), step.read(2, kind), parts)
    wide = f"{kind[0]}{2 * TYPES[kind][1]}" if "wide" in parts else kind
    if step.instruction.name == "mad":
        found = np.add(found, step.read(3, wide))
    step.write(word(found, wide))


def _shift(step: _Step) -> None:
    kind = step.types[-1]
    count = step.read(2, "u32")
    step.write(word(table.shift(step.read(1, kind), count, step.instruction.name == "shl"), kind))


def _funnel(step: _Step) -> None:
    parts = step.instruction.parts
    low, high, count = (step.read(i, "u32") for i in (1, 2, 3))
    step.write(word(table.funnel(low, high, count, "l" in parts, "wrap" in parts), "u32"))


def _extract(step: _Step) -> None:
    kind = step.types[-1]
    start, length = (step.read(i, "u32") for i in (2, 3))
    step.write(word(table.extract(step.read(1, kind), start, length), kind))


def _truth_table(step: _Step) -> None:
    a, b, c = (step.read(i, "b32") for i in (1, 2, 3))
    step.write(word(table.truth_table(a, b, c, int(step.read(4, "b32"))), "b32"))


def _permute(step: _Step) -> None:
    a, b, choice = (step.read(i, "s32") for i in (1, 2, 3))
    step.write(word(integers.byte_perm(a, b, choice), "s32"))


def _compare(step: _Step) -> None:
    kind = step.types[-1]
    compare = table.COMPARISONS[step.instruction.parts[1]]
    step.write(word(compare(step.read(1, kind), step.read(2, kind)), "pred"))


def _choose(step: _Step) -> None:
    kind = step.types[-1]
    chosen = np.where(step.read(3, "pred"), step.read(1, kind), step.read(2, kind))
    step.write(word(chosen, kind))


def _convert(step: _Step) -> None:
    target, source = step.types
    words = [step.flushed(o, source) for o in step.instruction.operands[1:]]
    step.write(table.convert(words, step.instruction.parts, target, source))


_HANDLERS: dict[str, Callable[[_Step], None]] = {
    "mov": _move,
    **{name: _each(f, 1) for name, f in (table.FLOAT_UNARY | table.UNARY).items()},
    **{name: _each(f, 2) for name, f in table.BINARY.items()},
    "div": _each(table.quotient, 2),
    "rem": _each(table.remainder, 2),
    "fma": _each(table.fused, 3),
    "min": _extremum,
    "max": _extremum,
    "mul": _multiply,
    "mad": _multiply,
    "shl": _shift,
    "shr": _shift,
    "shf": _funnel,
    "bfe": _extract,
    "lop3": _truth_table,
    "prmt": _permute,
    "setp": _compare,
    "selp": _choose,
    "cvt": _convert,
}
