"""What is known of an integer or pointer value along each of its axes.

Along an axis, all other indices being fixed, the values

* count up by one (by the element's bytes, for pointers) within every aligned run of `contiguity`
  elements,
* at the start of every such run are multiples of `divisibility` (bytes, for pointers),
* are equal within every aligned run of `constancy` elements.

All three are powers of two, and 1, 1, 1 says nothing. Invariant: facts are only ever weaker than the
truth. A scalar is described as a block with one axis of length 1; of a float only the constancy is
known. See `axis` for what is assumed about arithmetic that leaves its type's range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from blockstep.language.types import dtype

MOST = 1 << 62  # the largest divisibility that is told apart: 0 is a multiple of everything


@dataclass(frozen=True, slots=True)
class AxisFacts:
    """One entry an axis; `constant` and `nonnegative` speak of every element."""

    contiguity: tuple[int, ...]
    divisibility: tuple[int, ...]
    constancy: tuple[int, ...]
    constant: int | None = None
    nonnegative: bool = False
    step: int = 1  # what a contiguous run counts up by: 1, or the bytes of a pointer's element

    @property
    def rank(self) -> int:
        """How many axes are described: 1 for a scalar, too."""
        return len(self.contiguity)

    @property
    def everywhere(self) -> int:
        """What divides every element."""
        best = 1
        for run, start in zip(self.contiguity, self.divisibility, strict=True):
            best = max(best, start if run == 1 else min(start, self.step))
        return best

    def starts(self, axis: int, run: int) -> int:
        """What divides the first element of every aligned run of `run` elements."""
        start = self.divisibility[axis]
        return start if run >= self.contiguity[axis] else min(start, run * self.step)

    def aligned(self, axis: int) -> int:
        """The longest contiguous runs that also start at a multiple of their length."""
        return max(1, min(self.contiguity[axis], self.divisibility[axis] // self.step))

    def shortened(self, longest: int) -> AxisFacts:
        """The same with runs of at most `longest`."""
        if max(self.contiguity) <= longest:
            return self
        return self._with_runs(tuple([min(run, longest) for run in self.contiguity]))

    def cut(self) -> AxisFacts:
        """The same with aligned runs only."""
        return self._with_runs(tuple([self.aligned(axis) for axis in range(self.rank)]))

    def _with_runs(self, runs: tuple[int, ...]) -> AxisFacts:
        starts = tuple([self.starts(axis, run) for axis, run in enumerate(runs)])
        return replace(self, contiguity=runs, divisibility=starts)

    def meet(self, other: AxisFacts) -> AxisFacts:
        """What holds of both."""
        if self is other or self == other:
            return self
        runs = tuple(map(min, self.contiguity, other.contiguity))
        return AxisFacts(
            runs,
            tuple([min(self.starts(k, n), other.starts(k, n)) for k, n in enumerate(runs)]),
            tuple(map(min, self.constancy, other.constancy)),
            self.constant if self.constant == other.constant else None,
            self.nonnegative and other.nonnegative,
            min(self.step, other.step),
        )


Axiswise = Callable[[int], tuple[int, int, int]]


def axes_of(kind: dtype) -> tuple[int, ...]:
    """The lengths of the axes that facts describe."""
    return kind.shape or (1,)


def step_of(kind: dtype) -> int:
    """What a contiguous run of this type counts up by."""
    scalar = kind.scalar
    return max(1, scalar.element_ty.itemsize) if scalar.is_ptr() else 1  # type: ignore[attr-defined]


def unsigned(kind: dtype) -> bool:
    """Whether no value of the type is below zero."""
    return kind.scalar.is_int_unsigned()


def unknown(kind: dtype) -> AxisFacts:
    """A value of which only the type is known."""
    ones = (1,) * len(axes_of(kind))
    return AxisFacts(ones, ones, ones, None, unsigned(kind), step_of(kind))


def uniform(kind: dtype, divisibility: int, nonnegative: bool = False) -> AxisFacts:
    """One value, unknown but for its divisibility, in every element."""
    shape = axes_of(kind)
    ones, starts = (1,) * len(shape), (min(divisibility, MOST),) * len(shape)
    sign = unsigned(kind) or (nonnegative and kind.scalar.is_int())
    return AxisFacts(ones, starts, shape, None, sign, step_of(kind))


def constant(kind: dtype, number: int) -> AxisFacts:
    """One known integer in every element."""
    return replace(uniform(kind, power_of_two(number), number >= 0), constant=number)


def power_of_two(number: int) -> int:
    """The largest power of two that divides it, up to MOST."""
    return min(number & -number, MOST) if number else MOST


def wrapped(number: int, kind: dtype) -> int:
    """The number modulo 2^bits, as a value of the type."""
    bits = kind.scalar.primitive_bitwidth
    low = number & ((1 << bits) - 1)
    return low if unsigned(kind) or low <= kind.scalar.highest else low - (1 << bits)


def counted(facts: AxisFacts, kind: dtype) -> AxisFacts:
    """The facts with runs that a type can hold: aligned ones longer than half the range of a
    signed type would leave it."""
    scalar = kind.scalar
    if not scalar.is_int() or scalar.primitive_bitwidth >= 32:
        return facts
    bits = scalar.primitive_bitwidth
    return facts.shortened(1 if bits == 1 else 1 << (bits if unsigned(kind) else bits - 1))


def meet_all(facts: Iterable[AxisFacts]) -> AxisFacts:
    """What holds of all, of which there is at least one."""
    first, *rest = facts
    for one in rest:
        first = first.meet(one)
    return first
