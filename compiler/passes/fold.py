"""Folding through the operations' own meanings.

Invariant: nothing is folded whose value a checker might mark (an integer that leaves its range, a
division by zero, a shift past the width, a conversion out of range, what is made of NaN) or whose bits a constant cannot
hold (a NaN's payload, an address).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.ir import Operation, Value
from blockstep.language.constant import unwrap
from blockstep.language.op import Family
from blockstep.language.promotion import CONSTANT
from blockstep.language.types import dtype

Number = int | float | bool
_FOLDED = (Family.ELEMENTWISE, Family.SELECT, Family.SHAPE)
_EXACT: dict[str, Callable[..., int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "shl": lambda x, y: x << y if 0 <= y < 64 else 1 << 64,
    "iabs": abs,
}
_DIVISIONS = frozenset({"idiv", "irem"})
_SHIFTS = frozenset({"shl", "lshr", "ashr"})
_NEVER = frozenset({"map", "asm", "libdevice", "philox", "element", "collect", "split", "join"})


def constant_of(value: Value) -> Number | None:
    """The number in every element of a value, where it is a constant."""
    producer = value.producer
    if producer is None or producer.op is not CONSTANT:
        return None
    found: Number = unwrap(producer.attributes["value"])
    return found


def make_constant(number: Number, kind: dtype, like: Operation) -> Value:
    """A constant in front of `like`, from the same source line."""
    made = Operation(CONSTANT, [], [kind], {"type": kind, "value": number}, (), like.location)
    made.insert_before(like)
    return made.results[0]


def folded(operation: Operation) -> Number | None:
    """The number that every element of the result has, where it can be known now."""
    op, meaning = operation.op, operation.op.meaning
    if meaning is None or op.family not in _FOLDED or op.name in _NEVER:
        return None
    if len(operation.results) != 1 or not operation.operands:
        return None
    numbers = [constant_of(v) for v in operation.operands]
    kinds = [v.type.scalar for v in (*operation.operands, operation.results[0])]
    if any(n is None for n in numbers) or any(k.is_ptr() for k in kinds):
        return None
    if op.family is Family.SHAPE:  # `cat` of two constants is none, of 0.0 and -0.0 either
        return numbers[0] if len({repr(n) for n in numbers}) == 1 else None
    return _evaluated(operation, numbers)


def _evaluated(operation: Operation, numbers: list[Any]) -> Number | None:
    if not _unmarked(operation, numbers):
        return None
    arrays = [v.type.scalar.numpy.type(n) for n, v in zip(numbers, operation.operands, strict=True)]
    assert operation.op.meaning is not None
    with np.errstate(all="ignore"):
        found = np.asarray(operation.op.meaning(*arrays, **operation.attributes))
    result = operation.results[0].type.scalar
    if result.is_floating():
        number = float(found)
        return None if math.isnan(number) else number
    return bool(found) if result.is_int1() else int(found)


def _unmarked(operation: Operation, numbers: list[Any]) -> bool:
    """Whether no checker could object to the value."""
    name, kind = operation.name, operation.results[0].type.scalar
    if any(n != n for n in numbers):
        return False
    if name == "cast":
        return _converts(numbers[0], operation.operands[0].type.scalar, kind)
    if not kind.is_int() or kind.is_int1():
        return True
    if name in _DIVISIONS and numbers[1] == 0:
        return False
    if name in _SHIFTS and not 0 <= numbers[1] < kind.primitive_bitwidth:
        return False
    exact = _EXACT.get(name)
    return exact is None or kind.lowest <= exact(*map(int, numbers)) <= kind.highest


def _converts(number: Number, source: dtype, target: dtype) -> bool:
    if target.is_int() and not target.is_int1():
        return math.isfinite(number) and target.lowest <= number <= target.highest
    return not (source.is_floating() and target.primitive_bitwidth == 8)
