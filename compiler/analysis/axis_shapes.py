"""Axis facts of operations that make blocks or only move elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from blockstep.compiler.analysis import axis_arithmetic as arithmetic
from blockstep.compiler.analysis.facts import (
    AxisFacts,
    axes_of,
    constant,
    meet_all,
    power_of_two,
    uniform,
    unknown,
)
from blockstep.ir import Operation
from blockstep.language import types as ty
from blockstep.language.types import dtype

Operands = Sequence[AxisFacts]
Rule = Callable[[Operation, Operands], AxisFacts]


def _kind(operation: Operation) -> dtype:
    return operation.results[0].type


def number(operation: Operation, _: Operands) -> AxisFacts:
    """A constant."""
    kind, value = _kind(operation), operation.attributes["value"]
    return constant(kind, int(value)) if kind.scalar.is_int() else uniform(kind, 1)


def count_up(start: int, length: int) -> AxisFacts:
    """`start, start + 1, …`: aligned runs as long as the block."""
    return AxisFacts((length,), (power_of_two(start),), (1,), None, start >= 0)


def arange(operation: Operation, _: Operands) -> AxisFacts:
    """One run."""
    start, end = operation.attributes["start"], operation.attributes["end"]
    return count_up(start, end - start)


def coordinate(operation: Operation, _: Operands) -> AxisFacts:
    """A program's index or the grid's length: never below zero."""
    return uniform(_kind(operation), 1, nonnegative=True)


def splat(operation: Operation, operands: Operands) -> AxisFacts:
    """A scalar in every element."""
    return spread(operands[0], axes_of(_kind(operation)))


def spread(x: AxisFacts, shape: tuple[int, ...]) -> AxisFacts:
    """A scalar in every element of a block of this shape."""
    ones = (1,) * len(shape)
    return replace(x, contiguity=ones, divisibility=(x.everywhere,) * len(shape), constancy=shape)


def broadcast(operation: Operation, operands: Operands) -> AxisFacts:
    """Along a repeated axis all are equal."""
    (x,) = operands
    old, new = axes_of(operation.operands[0].type), axes_of(_kind(operation))
    pairs = zip(x.constancy, old, new, strict=True)
    return replace(x, constancy=tuple([m if a == b else b for m, a, b in pairs]))


def _picked(x: AxisFacts, axes: Sequence[int | None]) -> AxisFacts:
    """The axes of a result, by their number in `x`; None for a new one of length 1."""
    if not axes:
        axes = (None,)
    every = x.everywhere
    return replace(
        x,
        contiguity=tuple([1 if k is None else x.contiguity[k] for k in axes]),
        divisibility=tuple([every if k is None else x.divisibility[k] for k in axes]),
        constancy=tuple([1 if k is None else x.constancy[k] for k in axes]),
    )


def expand_dims(operation: Operation, operands: Operands) -> AxisFacts:
    """A new axis of length 1."""
    axes: list[int | None] = list(range(len(operation.operands[0].type.shape)))
    axes.insert(operation.attributes["axis"], None)
    return _picked(operands[0], axes)


def permute(operation: Operation, operands: Operands) -> AxisFacts:
    """Axes in another order."""
    return _picked(operands[0], operation.attributes["dims"])


def reshape(operation: Operation, operands: Operands) -> AxisFacts:
    """The index of an element is a row of bits, and an axis of a power of two is some of them."""
    (x,) = operands
    old, new = axes_of(operation.operands[0].type), axes_of(_kind(operation))
    bits = _bits(x, old)
    every = x.everywhere
    runs, starts, equals = [], [], []
    low = sum(n.bit_length() - 1 for n in new)
    for length in new:
        low -= length.bit_length() - 1
        run, start, equal = _along(x, bits[low:], length, every)
        runs.append(run)
        starts.append(start)
        equals.append(equal)
    return replace(x, contiguity=tuple(runs), divisibility=tuple(starts), constancy=tuple(equals))


def _bits(x: AxisFacts, shape: tuple[int, ...]) -> list[tuple[int, int, bool]]:
    """For each bit of the index, lowest first: its axis, its place there, whether the value is the
    same with and without it."""
    found = []
    for axis in reversed(range(len(shape))):
        for place in range(shape[axis].bit_length() - 1):
            found.append((axis, place, x.constancy[axis] >> place > 1))
    return found


def _along(
    x: AxisFacts, bits: list[tuple[int, int, bool]], length: int, every: int
) -> tuple[int, int, int]:
    """Contiguity, divisibility and constancy along an axis that begins with these bits."""
    equal = 1
    for _, _, same in bits[: length.bit_length() - 1]:
        if not same:
            break
        equal *= 2
    axis, place, _ = bits[0] if length > 1 else (0, 1, False)
    if place:
        return 1, every, equal
    run = min(x.contiguity[axis], length)
    return run, max(every, x.starts(axis, run)), equal


def flip(operation: Operation, operands: Operands) -> AxisFacts:
    """Runs count down along the flipped axis."""
    (x,) = operands
    flipped = operation.attributes["axis"] % x.rank
    every = x.everywhere
    return replace(
        x,
        contiguity=tuple([1 if k == flipped else n for k, n in enumerate(x.contiguity)]),
        divisibility=tuple([every if k == flipped else n for k, n in enumerate(x.divisibility)]),
    )


def join(operation: Operation, operands: Operands) -> AxisFacts:
    """What holds of both, and an axis of length 2 from one to the other."""
    both = meet_all(operands)
    rank = len(operation.operands[0].type.shape)
    joined = _picked(both, [*range(rank), None])
    if operation.operands[0] is not operation.operands[1] and both.constant is None:
        return joined
    return replace(joined, constancy=(*joined.constancy[:-1], 2))


def split(operation: Operation, operands: Operands) -> AxisFacts:
    """The last axis goes."""
    (x,) = operands
    return _picked(x, range(x.rank - 1))


def cat(operation: Operation, operands: Operands) -> AxisFacts:
    """What holds of both: aligned runs stay aligned."""
    both = meet_all(operands)
    if both.constant is None:
        return both
    return constant(_kind(operation), both.constant)


def element(operation: Operation, operands: Operands) -> AxisFacts:
    """One element."""
    return _picked(operands[0], ())


def collect(operation: Operation, operands: Operands) -> AxisFacts:
    """Scalars in a row."""
    kind, all_of = _kind(operation), meet_all(operands)
    if all_of.constant is not None:
        return constant(kind, all_of.constant)
    known, every = unknown(kind), all_of.everywhere
    return replace(known, divisibility=(every,) * known.rank, nonnegative=all_of.nonnegative)


def gather(operation: Operation, operands: Operands) -> AxisFacts:
    """Elements of the first operand; equal ones where equal indices pick them."""
    x, index = operands
    known, every = unknown(_kind(operation)), x.everywhere
    starts = (every,) * known.rank
    if index.rank != x.rank:
        return replace(known, divisibility=starts, nonnegative=x.nonnegative)
    axis = operation.attributes["axis"] % x.rank
    shapes = [axes_of(v.type) for v in operation.operands]
    constancy = [
        m if k == axis else min(m, x.constancy[k]) if shapes[0][k] == shapes[1][k] else 1
        for k, m in enumerate(index.constancy)
    ]
    return replace(
        known, divisibility=starts, constancy=tuple(constancy), nonnegative=x.nonnegative
    )


_CHOOSES = frozenset({"minimum", "maximum"})
_KEEPS_MULTIPLES = frozenset({"add", "and", "or", "xor"}) | _CHOOSES


def reduce(operation: Operation, operands: Operands) -> AxisFacts:
    """Equal lines of integers have equal results; a sum of multiples is one."""
    kind = _kind(operation)
    known = unknown(kind)
    single = operation.attributes["region"].single
    if len(operands) != 1 or single is None or not kind.scalar.is_int():
        return known
    if single.op.name not in _KEEPS_MULTIPLES:
        return known
    (x,) = operands
    length = x.rank
    gone = operation.attributes["axis"] % length
    kept = _picked(x, [k for k in range(length) if k != gone])
    every = (x.everywhere,) * kept.rank
    return replace(
        known, divisibility=every, constancy=kept.constancy, nonnegative=x.nonnegative,
        constant=x.constant if single.op.name in _CHOOSES else None,
    )  # fmt: skip


def hint(operation: Operation, operands: Operands) -> AxisFacts:
    """What `tl.multiple_of`, `max_contiguous` and `max_constancy` promise, as far as the promise
    speaks of these runs: a multiple is promised for the first element of the longest run that
    there is, so a shorter one starts at a multiple of its own length at best."""
    (x,) = operands
    shape = operation.operands[0].type.shape
    promised = _promised(operation)
    runs = [
        max(n, _fitting(c, length)) for n, c, length in
        zip(x.contiguity, promised["max_contiguous"], axes_of(_kind(operation)), strict=True)
    ]  # fmt: skip
    starts = [
        max(x.divisibility[k], _multiple(x.step, n, promised["multiple_of"][k], shape, k))
        for k, n in enumerate(runs)
    ]
    equals = [
        max(n, _fitting(c, length)) for n, c, length in
        zip(x.constancy, promised["max_constancy"], axes_of(_kind(operation)), strict=True)
    ]  # fmt: skip
    return replace(x, contiguity=tuple(runs), divisibility=tuple(starts), constancy=tuple(equals))


def _promised(operation: Operation) -> dict[str, tuple[int, ...]]:
    """The promises of this hint and of those on its operand, by name, for each axis."""
    ones = (1,) * len(operation.attributes["values"])
    found = dict.fromkeys(("multiple_of", "max_contiguous", "max_constancy"), ones)
    at: Operation | None = operation
    while at is not None and at.name == "hint":
        name = at.attributes["hint"]
        found[name] = tuple(map(max, found[name], at.attributes["values"]))
        at = at.operands[0].producer
    return found


def _fitting(run: int, length: int) -> int:
    """A promised run counts where it divides the axis."""
    return run if 0 < run <= length and length % run == 0 else 1


def _multiple(step: int, run: int, promised: int, shape: tuple[int, ...], axis: int) -> int:
    """What a promised multiple says of the starts of known runs along an axis."""
    if promised <= 1:
        return 1
    multiple = power_of_two(promised)
    if len(shape) < 2 and run == (shape or (1,))[0]:
        return multiple
    if run == 1:
        return 1
    return multiple if run == shape[axis] else min(multiple, run * step)


def _placed(facts: AxisFacts, axis: int, shape: tuple[int, ...]) -> AxisFacts:
    """A 1-d block along one axis of a larger one, repeated along the others."""
    every = facts.everywhere
    return replace(
        facts,
        contiguity=tuple([facts.contiguity[0] if k == axis else 1 for k in range(len(shape))]),
        divisibility=tuple(
            [facts.divisibility[0] if k == axis else every for k in range(len(shape))]
        ),
        constancy=tuple([facts.constancy[0] if k == axis else n for k, n in enumerate(shape)]),
    )


def _positions(offset: AxisFacts, axis: int, shape: tuple[int, ...]) -> AxisFacts:
    """`offset + 0, 1, …` along an axis, in 64 bits."""
    steps = _placed(count_up(0, shape[axis]), axis, shape)
    return arithmetic.add((spread(offset, shape), steps), ty.block_type(ty.int64, shape))


def box_pointers(operation: Operation, operands: Operands) -> AxisFacts:
    """base + (offset + position) . strides."""
    kind, itemsize = _kind(operation), operation.attributes["itemsize"]
    shape, rank = kind.shape, len(kind.shape)
    wide = ty.block_type(ty.int64, shape)
    found = spread(operands[0], shape)
    for axis in range(rank):
        place = _positions(operands[1 + axis], axis, shape)
        stride = spread(operands[1 + rank + axis], shape)
        moved = arithmetic.mul((place, stride), wide)
        found = arithmetic.addptr((found, moved), kind, itemsize)
    return found


def box_mask(operation: Operation, operands: Operands) -> AxisFacts:
    """0 <= offset + position < limit, along the guarded axes."""
    kind, axes = _kind(operation), operation.attributes["axes"]
    shape = kind.shape
    zero = constant(ty.block_type(ty.int64, shape), 0)
    found = uniform(kind, 1)
    for place, axis in enumerate(axes):
        position = _positions(operands[place], axis, shape)
        limit = spread(operands[len(axes) + place], shape)
        inside = arithmetic.elementwise(
            (arithmetic.below((position, zero), kind), arithmetic.below((position, limit), kind)),
            kind,
        )
        found = arithmetic.elementwise((found, inside), kind)
    return found


SHAPES: dict[str, Rule] = {
    "constant": number,
    "arange": arange,
    "program_id": coordinate,
    "num_programs": coordinate,
    "splat": splat,
    "broadcast": broadcast,
    "expand_dims": expand_dims,
    "permute": permute,
    "reshape": reshape,
    "flip": flip,
    "join": join,
    "split": split,
    "cat": cat,
    "element": element,
    "collect": collect,
    "gather": gather,
    "reduce": reduce,
    "hint": hint,
    "box_pointers": box_pointers,
    "box_mask": box_mask,
}
