"""Axis facts of elementwise operations.

Two observations carry most rules. A run of `k` values that starts at a multiple of `k` (`k` a power
of two, inside the range) shares all bits above the lowest log2(k): so it lies between two multiples
of `k`, and a comparison with, a division by or a remainder of a multiple of `k` treats all of it
alike. And it never wraps inside, as 2^bits is a multiple of `k`: what is concluded from aligned runs
holds for sums and products that wrap, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from blockstep.compiler.analysis.facts import (
    MOST,
    AxisFacts,
    axes_of,
    constant,
    counted,
    power_of_two,
    step_of,
    unknown,
    unsigned,
    wrapped,
)
from blockstep.language.types import dtype

Operands = Sequence[AxisFacts]
Arithmetic = Callable[[Operands, dtype], AxisFacts]


def elementwise(operands: Operands, kind: dtype) -> AxisFacts:
    """Any function of the elements: equal where all operands are."""
    known = unknown(kind)
    constancy = operands[0].constancy
    for x in operands[1:]:
        constancy = _least(constancy, x.constancy)
    return replace(known, constancy=constancy)


def _least(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return a if a == b else tuple(map(min, a, b))


def _result(
    operands: Operands, kind: dtype, divisibility: int, nonnegative: bool = False
) -> AxisFacts:
    """No runs; every element is a multiple of `divisibility`."""
    found = elementwise(operands, kind)
    starts = (min(divisibility, MOST),) * found.rank
    return replace(found, divisibility=starts, nonnegative=nonnegative or found.nonnegative)


def _counting(
    facts: AxisFacts, kind: dtype, runs: Sequence[int], starts: Sequence[int]
) -> AxisFacts:
    """Facts without runs, given these; what divides every element divides the starts, too."""
    better = tuple(map(max, facts.divisibility, starts))
    return counted(replace(facts, contiguity=tuple(runs), divisibility=better), kind)


def _sum(x: AxisFacts, y: AxisFacts, kind: dtype, falling: bool) -> AxisFacts:
    """`x + y`; `x - y` if falling, where the runs of `y` count down."""
    found = _result(
        (x, y), kind, min(x.everywhere, y.everywhere),
        x.nonnegative and y.nonnegative and not falling,
    )  # fmt: skip
    runs = tuple(map(min, x.contiguity, y.constancy))
    if not falling:
        runs = tuple(map(max, runs, map(min, x.constancy, y.contiguity)))
    starts = [min(x.starts(k, n), y.starts(k, n)) for k, n in enumerate(runs)]
    return _counting(found, kind, runs, starts)


def add(operands: Operands, kind: dtype) -> AxisFacts:
    """A run plus equal values is a run."""
    x, y = operands
    return _sum(x, y, kind, False)


def sub(operands: Operands, kind: dtype) -> AxisFacts:
    """A run minus equal values is a run."""
    x, y = operands
    return _sum(x, y, kind, True)


def mul(operands: Operands, kind: dtype) -> AxisFacts:
    """Divisibilities multiply; only a factor of 1 keeps runs."""
    x, y = operands
    if y.constant == 1:
        return x
    if x.constant == 1:
        return y
    both = x.nonnegative and y.nonnegative
    return _result(operands, kind, x.everywhere * y.everywhere, both)


def _uniform_runs(x: AxisFacts, y: AxisFacts) -> list[int]:
    """How long an aligned run of `x` meets one value of `y` that is a multiple of its length."""
    limit = y.everywhere
    return [min(x.aligned(k), y.constancy[k], limit) for k in range(x.rank)]


def idiv(operands: Operands, kind: dtype) -> AxisFacts:
    """A run between two multiples of the divisor has one quotient, unless it is below zero: there
    truncation gives the run's first element, if it is a multiple, another one than the rest."""
    x, y = operands
    if y.constant == 1:
        return x
    runs = _uniform_runs(x, y) if x.nonnegative else [1] * x.rank
    found = _result(operands, kind, 1, x.nonnegative and y.nonnegative)
    divisor = abs(y.constant or 0)
    if divisor == 0 or divisor & (divisor - 1):
        return _longer(found, runs)
    return _longer(found, runs, _quotient(x, runs, divisor))


def _quotient(x: AxisFacts, runs: Sequence[int], divisor: int) -> int:
    """What divides `x / divisor`, a power of two, where runs of `x` have one quotient each."""
    known = [x.everywhere, *(x.starts(axis, run) for axis, run in enumerate(runs))]
    return max(1, max(known) // divisor)


def _longer(facts: AxisFacts, runs: Sequence[int], divisibility: int = 1) -> AxisFacts:
    """Equal over these runs as well; every element is a multiple of `divisibility`."""
    every = max(facts.everywhere, divisibility)
    return replace(
        facts,
        constancy=tuple(map(max, facts.constancy, runs)),
        divisibility=(every,) * facts.rank,
    )


def irem(operands: Operands, kind: dtype) -> AxisFacts:
    """A run between two multiples of the divisor stays a run; below zero, see `idiv`."""
    x, y = operands
    every = min(x.everywhere, y.everywhere)
    found = _result(operands, kind, every, x.nonnegative)
    runs = _uniform_runs(x, y) if x.nonnegative else [1] * x.rank
    starts = [min(x.starts(k, n), y.everywhere) for k, n in enumerate(runs)]
    return _counting(found, kind, runs, starts)


def bit_and(operands: Operands, kind: dtype) -> AxisFacts:
    """Low bits that are all kept keep runs; low bits that are all dropped make values equal."""
    x, y = operands
    if x.constant is not None:
        x, y = y, x
    every = max(x.everywhere, y.everywhere)
    found = _result(operands, kind, every, x.nonnegative or y.nonnegative)
    if kind.scalar.is_int1():
        return found
    found = _longer(found, _uniform_runs(x, y))
    if y.constant is None:
        return _longer(found, _uniform_runs(y, x))
    kept = power_of_two(~y.constant)
    runs = [min(x.aligned(k), kept) for k in range(x.rank)]
    return _counting(found, kind, runs, [x.starts(k, n) for k, n in enumerate(runs)])


def bit_mix(operands: Operands, kind: dtype) -> AxisFacts:
    """`or` and `xor`: an aligned run under bits that are above it stays a run."""
    x, y = operands
    every = min(x.everywhere, y.everywhere)
    found = _result(operands, kind, every, x.nonnegative and y.nonnegative)
    if kind.scalar.is_int1():
        return found
    runs = list(map(max, _uniform_runs(x, y), _uniform_runs(y, x)))
    starts = [min(x.starts(k, n), y.starts(k, n)) for k, n in enumerate(runs)]
    return _counting(found, kind, runs, starts)


def shift_left(operands: Operands, kind: dtype) -> AxisFacts:
    """A multiplication by a power of two."""
    x, y = operands
    count = y.constant
    if count == 0:
        return x
    known = count is not None and 0 < count < kind.scalar.primitive_bitwidth
    factor = 1 << count if known and count is not None else 1
    return _result(operands, kind, x.everywhere * factor, x.nonnegative)


def shift_right(operands: Operands, kind: dtype) -> AxisFacts:
    """A division by a power of two that rounds down, so that no sign matters."""
    x, y = operands
    count = y.constant
    if count == 0:
        return x
    found = _result(operands, kind, 1, x.nonnegative)
    if count is None or not 0 < count < kind.scalar.primitive_bitwidth:
        return found
    runs = [min(x.aligned(k), 1 << count) for k in range(x.rank)]
    return _longer(found, runs, _quotient(x, runs, 1 << count))


def below(operands: Operands, kind: dtype) -> AxisFacts:
    """`x < y` and `x >= y`: one answer for an aligned run of `x`, if `y` is a multiple of it."""
    x, y = operands
    found = elementwise(operands, kind)
    return found if x.step > 1 else _longer(found, _uniform_runs(x, y))


def above(operands: Operands, kind: dtype) -> AxisFacts:
    """`x <= y` and `x > y`: one answer for an aligned run of `y`, if `x` is a multiple of it."""
    x, y = operands
    return below((y, x), kind)


def minimum(operands: Operands, kind: dtype) -> AxisFacts:
    """Two runs start with the lesser of their starts."""
    x, y = operands
    return replace(x.meet(y), constant=None)


def maximum(operands: Operands, kind: dtype) -> AxisFacts:
    """Two runs start with the greater of their starts."""
    x, y = operands
    return replace(x.meet(y), constant=None, nonnegative=x.nonnegative or y.nonnegative)


def clamp(operands: Operands, kind: dtype) -> AxisFacts:
    """min(max(x, low), high)."""
    x, low, high = operands
    return minimum((maximum((x, low), kind), high), kind)


def select(operands: Operands, kind: dtype) -> AxisFacts:
    """Runs of the condition's constancy come from one side."""
    condition, x, y = operands
    both = x.meet(y)
    if condition.rank == 1 and both.rank > 1:
        return both
    runs = _least(both.contiguity, condition.constancy)
    starts = tuple([both.starts(k, n) for k, n in enumerate(runs)])
    constancy = both.constancy
    if both.constant is None:
        constancy = _least(constancy, condition.constancy)
    return replace(both, contiguity=runs, divisibility=starts, constancy=constancy)


def iabs(operands: Operands, kind: dtype) -> AxisFacts:
    """The sign does not matter to multiples."""
    return _result(operands, kind, operands[0].everywhere, True)


def addptr(operands: Operands, kind: dtype, itemsize: int) -> AxisFacts:
    """A pointer plus an offset in elements."""
    pointer, offset = operands
    if itemsize != step_of(kind):
        offset = offset.shortened(1)
    scaled = replace(
        offset, divisibility=tuple([min(MOST, d * itemsize) for d in offset.divisibility]),
        constant=None, step=itemsize,
    )  # fmt: skip
    return add((pointer, scaled), kind)


def cast(x: AxisFacts, source: dtype, kind: dtype) -> AxisFacts:
    """Between integers multiples stay; where values may leave the range, so do aligned runs only."""
    old, new = source.scalar, kind.scalar
    if new.is_int1() or not (old.is_int() and new.is_int()):
        return elementwise((x,), kind)
    if x.constant is not None:
        return constant(kind, wrapped(x.constant, kind))
    lowest = 0 if x.nonnegative else old.lowest
    if new.lowest <= lowest and old.highest <= new.highest:
        return replace(x, nonnegative=x.nonnegative or unsigned(kind))
    return counted(replace(x.cut(), nonnegative=unsigned(kind)), kind)


def reinterpreted(x: AxisFacts, source: dtype, kind: dtype) -> AxisFacts:
    """The same bits: of integers, or of pointers, to elements of another size perhaps."""
    old, new = source.scalar, kind.scalar
    whole = (old.is_int() or old.is_ptr()) and (new.is_int() or new.is_ptr())
    if not whole or old.is_int1() or new.is_int1():
        return elementwise((x,), kind)
    step = step_of(kind)
    if step != x.step:
        every = (x.everywhere,) * x.rank
        x = replace(x, contiguity=(1,) * x.rank, divisibility=every, step=step)
    if new.is_ptr() or old.is_ptr():
        return replace(x, constant=None, nonnegative=unsigned(kind))
    return cast(x, source, kind)


_FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "minimum": min,
    "maximum": max,
}


def folded(name: str, operands: Operands, kind: dtype) -> AxisFacts | None:
    """The facts of a result that is one known integer."""
    fold = _FOLDS.get(name)
    if fold is None or len(operands) != 2 or not kind.scalar.is_int() or kind.scalar.is_int1():
        return None
    x, y = operands[0].constant, operands[1].constant
    return None if x is None or y is None else constant(kind, wrapped(fold(x, y), kind))


ARITHMETIC: dict[str, Arithmetic] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "idiv": idiv,
    "irem": irem,
    "and": bit_and,
    "or": bit_mix,
    "xor": bit_mix,
    "shl": shift_left,
    "lshr": shift_right,
    "ashr": shift_right,
    "minimum": minimum,
    "maximum": maximum,
    "clamp": clamp,
    "iabs": iabs,
}
COMPARISONS: dict[str, Arithmetic] = {
    "lt": below, "ge": below, "le": above, "gt": above, "eq": elementwise, "ne": elementwise,
}  # fmt: skip

__all__ = [
    "ARITHMETIC", "COMPARISONS", "add", "addptr", "axes_of", "cast", "elementwise", "folded",
    "mul", "reinterpreted", "select",
]  # fmt: skip
