"""Axis analysis: which integers and pointers of a function are contiguous, aligned or equal.

It answers how wide an access may be and along which axis (`vector_width`, `order`). The facts are
those of Triton's AxisInfo, made exact: see `facts` for what they say. Three things are assumed.

* Integer arithmetic may wrap, which keeps multiples of powers of two. A *contiguous run* may break
  where it wraps inside of itself; that the checker reports, and nothing but a run that does not
  start at a multiple of its length can do so: accesses as wide as `vector_width` says are right for
  every argument.
* A quotient or remainder is only undefined where the divisor is zero.
* A sum or product of values that are not below zero is not either (else it wrapped, and is
  reported): quotients and remainders of runs need to know that, for they round toward zero.

A promise (`tl.multiple_of`, `tl.assume(x >= 0)`) is believed. Invariant: the facts of a loop's
variables hold at every turn: they start as those of the first turn and are weakened until they do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from blockstep.compiler.analysis.axis_arithmetic import (
    ARITHMETIC,
    COMPARISONS,
    addptr,
    cast,
    elementwise,
    folded,
    reinterpreted,
    select,
)
from blockstep.compiler.analysis.axis_shapes import SHAPES
from blockstep.compiler.analysis.facts import AxisFacts, meet_all, power_of_two, uniform, unknown
from blockstep.compiler.options import Hint
from blockstep.ir import Function, Operation, Region, Value
from blockstep.language.op import Family

WIDEST = 16  # bytes of one access
TURNS = 6  # of a loop, before what still changes is taken as unknown
Facts = dict[Value, AxisFacts]


def analyse(
    function: Function, arguments: Mapping[str, Hint], trust_dividends: bool = False
) -> Facts:
    """Facts of every value of a function, parameters by name as the hints say.

    With `trust_dividends`, what `//` and `%` divide is taken not to be below zero, as Triton takes
    it. Without, an unknown sign ends runs there: a parameter's comes from its hint."""
    found = _Analysis(_assumed(function), trust_dividends)
    for parameter in function.parameters:
        told = arguments.get(parameter.name, Hint())
        found.facts[parameter] = uniform(
            parameter.type, power_of_two(told.divisible_by), told.nonnegative
        )
    found.region(function.body)
    return found.facts


def vector_width(pointer: Value, mask: Value | None, itemsize: int, facts: Facts, axis: int) -> int:
    """How many consecutive elements along an axis one access of at most 16 bytes may cover, with
    one predicate."""
    at = facts[pointer]
    width = min(at.contiguity[axis], at.divisibility[axis] // itemsize, WIDEST // itemsize)
    if mask is not None:
        width = min(width, facts[mask].constancy[axis])
    return max(1, width)


def order(pointer: AxisFacts) -> tuple[int, ...]:
    """The axes from the most contiguous to the least; of equal ones, the last first."""
    return tuple(sorted(range(pointer.rank), key=lambda k: (-pointer.contiguity[k], -k)))


@dataclass(slots=True)
class _Analysis:
    assumed: frozenset[Value]
    trusting: bool
    facts: Facts = field(default_factory=dict)

    def region(self, region: Region) -> list[AxisFacts]:
        """The facts of every operation; those of the terminator's operands."""
        for operation in region.operations[:-1]:
            self._operation(operation)
        return [self.facts[v] for v in region.terminator.operands]

    def _operation(self, operation: Operation) -> None:
        structured = _STRUCTURE.get(operation.name)
        if structured is not None:
            self._name(operation.results, structured(self, operation))
        elif operation.results:
            operands = [self.facts[v] for v in operation.operands]
            if self.trusting and operation.name in _DIVISIONS:
                operands[0] = replace(operands[0], nonnegative=True)
            known = _result(operation, operands)
            self._name(operation.results, [known] * len(operation.results))

    def _name(self, values: Sequence[Value], facts: Sequence[AxisFacts]) -> None:
        for value, known in zip(values, facts, strict=True):
            if value in self.assumed:
                known = replace(known, nonnegative=True)
            self.facts[value] = known

    def _settled(
        self,
        operands: Sequence[Value],
        arguments: Sequence[Value],
        turn: Callable[[], Sequence[AxisFacts]],
    ) -> list[AxisFacts]:
        """What holds of a loop's variables before every turn."""
        before = [self.facts[v] for v in operands]
        for count in range(TURNS + 1):
            self._name(arguments, before)
            after = [x.meet(y) for x, y in zip(before, turn(), strict=True)]
            if after == before:
                break
            if count >= TURNS - 1:
                after = [x if x == y else unknown(v.type)
                         for x, y, v in zip(before, after, arguments, strict=True)]  # fmt: skip
            before = after
        return before

    def repeat(self, loop: Operation) -> list[AxisFacts]:
        """`for`: the index is the lower bound and multiples of the step."""
        (body,) = loop.regions
        lower, _, step = (self.facts[v] for v in loop.operands[:3])
        index, *carried = body.arguments
        divisor = min(lower.everywhere, step.everywhere)
        rising = lower.nonnegative and step.nonnegative
        self._name([index], [uniform(index.type, divisor, rising)])
        return self._settled(loop.operands[3:], carried, lambda: self.region(body))

    def loop(self, loop: Operation) -> list[AxisFacts]:
        """`while`: what the test passes on."""
        test, body = loop.regions

        def turn() -> list[AxisFacts]:
            self._name(body.arguments, self.region(test)[1:])
            return self.region(body)

        self._settled(loop.operands, test.arguments, turn)
        return [self.facts[v] for v in test.terminator.operands[1:]]

    def choose(self, choice: Operation) -> list[AxisFacts]:
        """`if`: what holds of both regions' values."""
        yields = [self.region(region) for region in choice.regions]
        return [meet_all(both) for both in zip(*yields, strict=True)]

    def call(self, call: Operation) -> list[AxisFacts]:
        """A function that is kept as a call: nothing is known."""
        return [unknown(result.type) for result in call.results]


_STRUCTURE: dict[str, Callable[[_Analysis, Operation], list[AxisFacts]]] = {
    "for": _Analysis.repeat,
    "while": _Analysis.loop,
    "if": _Analysis.choose,
    "call": _Analysis.call,
}
_DIVISIONS = frozenset({"idiv", "irem"})
_REINTERPRETS = frozenset({"bitcast", "pointer_to_int", "int_to_pointer"})
_OPAQUE = frozenset({"asm", "asm_packed", "map_packed"})


def _result(operation: Operation, operands: Sequence[AxisFacts]) -> AxisFacts:
    name, kind = operation.name, operation.results[0].type
    shape = SHAPES.get(name)
    if shape is not None:
        return shape(operation, operands)
    if operation.op.family is Family.SELECT:
        return select(operands, kind)
    if operation.op.family is not Family.ELEMENTWISE or name in _OPAQUE:
        return unknown(kind)
    return _elementwise(operation, operands)


def _elementwise(operation: Operation, operands: Sequence[AxisFacts]) -> AxisFacts:
    name, kind = operation.name, operation.results[0].type
    if name == "addptr":
        return addptr(operands, kind, operation.attributes["itemsize"])
    if name == "cast":
        return cast(operands[0], operation.operands[0].type, kind)
    if name in _REINTERPRETS:
        return reinterpreted(operands[0], operation.operands[0].type, kind)
    if name in COMPARISONS:
        return COMPARISONS[name](operands, kind)
    rule = ARITHMETIC.get(name)
    if rule is None or not kind.scalar.is_int():
        return elementwise(operands, kind)
    return folded(name, operands, kind) or rule(operands, kind)


_AT_LEAST = {"ge": 0, "gt": -1}
_AT_MOST = {"le": 0, "lt": -1}


def _assumed(function: Function) -> frozenset[Value]:
    """The integers that `tl.assume` says are not below zero, where they are computed: in the same
    region, so that each one is spoken of whenever there is one."""
    found = set()
    for operation in function.walk():
        if operation.name == "assume":
            value = _not_below_zero(operation.operands[0].producer)
            if value is not None and _home(value) is operation.parent:
                found.add(value)
    return frozenset(found)


def _home(value: Value) -> Region | None:
    return value.owner if isinstance(value.owner, Region) else value.owner.parent


def _not_below_zero(test: Operation | None) -> Value | None:
    if test is None or len(test.operands) != 2:
        return None
    left, right = test.operands
    if _reaches(right, _AT_LEAST.get(test.name)):
        return left
    return right if _reaches(left, _AT_MOST.get(test.name)) else None


def _reaches(limit: Value, least: int | None) -> bool:
    producer = limit.producer
    if least is None or producer is None or producer.name != "constant":
        return False
    return limit.type.scalar.is_int() and int(producer.attributes["value"]) >= least
