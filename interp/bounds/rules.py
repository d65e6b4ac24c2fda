"""`apply`: one operation on ranged values, by the rule of its op or of its family.

Invariant: the value is always what the operation's meaning gives. Where every operand is certain and
the operation is computed exactly alike everywhere, so is the result, and no rule is asked. An
operation without a rule passes ranges on in the safest way: what comes of an uncertain element is
undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from blockstep.interp.bounds.ranges import UNDECIDED, Ranged, anything, flags_of
from blockstep.language import types as ty
from blockstep.language.op import Family, Op

Attributes = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Freedom:
    """What a compiler may do. `exact`: it was asked for IEEE arithmetic without contraction. `chain`:
    how many roundings an element of a reduction goes through at most; None says nothing of trees."""

    exact: bool = False
    chain: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """An operation about to be bounded: its values are known, its ranges are not."""

    op: Op
    attributes: Any
    kinds: tuple[ty.dtype, ...]  # scalar types of the results
    values: tuple[Any, ...]
    operands: tuple[Ranged, ...]
    freedom: Freedom

    @property
    def exact(self) -> bool:
        """Whether the compiler was asked for IEEE arithmetic without contraction."""
        return self.freedom.exact

    @property
    def value(self) -> Any:
        """The only result."""
        return self.values[0]

    @property
    def kind(self) -> ty.dtype:
        """The scalar type of the only result."""
        return self.kinds[0]

    def meaning(self, *arrays: Any) -> Any:
        """The operation's meaning, with its attributes."""
        assert self.op.meaning is not None
        return self.op.meaning(*arrays, **self.attributes)


Rule = Callable[[Step], Ranged | list[Ranged]]
R = TypeVar("R", bound=Rule)
_RULES: dict[str, Rule] = {}
_FAMILIES: dict[Family, Rule] = {}
_ALWAYS: set[str] = set()  # rules that are asked even where all operands are certain


def rule(*names: str, always: bool = False) -> Callable[[R], R]:
    """Declares the rule of operations; `always`: their result differs between executions even
    where the operands do not."""

    def declare(function: R) -> R:
        for name in names:
            _RULES[name] = function
            if always:
                _ALWAYS.add(name)
        return function

    return declare


def family(kind: Family) -> Callable[[R], R]:
    """Declares the rule of a family."""

    def declare(function: R) -> R:
        _FAMILIES[kind] = function
        return function

    return declare


def apply(
    op: Op, attributes: Any, kinds: Sequence[ty.dtype], operands: Sequence[Ranged], freedom: Freedom
) -> list[Ranged]:
    """The results of one operation that has a meaning."""
    assert op.meaning is not None
    found = op.meaning(*[x.value for x in operands], **attributes)
    values = tuple(np.asarray(v) for v in (found if isinstance(found, tuple) else (found,)))
    scalars = tuple(k.scalar for k in kinds)
    if op.name not in _ALWAYS and all(x.certain for x in operands):
        return [Ranged(v, k) for v, k in zip(values, scalars, strict=True)]
    chosen = _RULES.get(op.name) or _FAMILIES.get(op.family) or _mixed
    made = chosen(Step(op, attributes, scalars, values, tuple(operands), freedom))
    return made if isinstance(made, list) else [made]


def uncertain(step: Step) -> Any:
    """Flags for an elementwise result: those of the operands, and undecided where one has a range."""
    flags: Any = np.uint8(0)
    for x in step.operands:
        flags = flags | np.where(x.fixed, 0, UNDECIDED).astype(np.uint8)
    own = flags_of(*step.operands)
    return flags if own is None else flags | own


@family(Family.ELEMENTWISE)
def elementwise(step: Step) -> list[Ranged]:
    """Sure where all operands are."""
    flags = uncertain(step)
    return [anything(v, k, flags) for v, k in zip(step.values, step.kinds, strict=True)]


def _mixed(step: Step) -> list[Ranged]:
    """Any element may come from any other."""
    flags: Any = np.uint8(0)
    for x in step.operands:
        marked = np.where(x.fixed, 0, UNDECIDED).astype(np.uint8)
        flags = flags | np.bitwise_or.reduce(marked, axis=None)
        if x.flags is not None:
            flags = flags | np.bitwise_or.reduce(x.flags, axis=None)
    return [anything(v, k, flags) for v, k in zip(step.values, step.kinds, strict=True)]


@family(Family.SHAPE)
def shape(step: Step) -> list[Ranged]:
    """Elements and their ranges move alike."""
    parts = _moved(step)
    made = []
    for i, (value, kind) in enumerate(zip(step.values, step.kinds, strict=True)):
        low, high, flags, first, last = [None if p is None else p[i] for p in parts]
        product = None if first is None else (first, last)
        made.append(Ranged(value, kind, low, high, flags, product))
    return made


def _moved(step: Step) -> list[Any]:
    """Lower and upper ends, flags, and both ends of products, each for every result; None for none."""
    xs = step.operands
    ranges = any(x.low is not None for x in xs)
    fused = any(x.product is not None for x in xs)

    def move(wanted: bool, arrays: Callable[[Ranged], Any]) -> Any:
        if not wanted:
            return None
        found = step.meaning(*[arrays(x) for x in xs])
        return found if isinstance(found, tuple) else (found,)

    def flags(x: Ranged) -> Any:
        return np.zeros(np.shape(x.value), np.uint8) if x.flags is None else x.flags

    return [
        move(ranges, lambda x: x.lows), move(ranges, lambda x: x.highs),
        move(any(x.flags is not None for x in xs), flags),
        move(fused, lambda x: x.lows if x.product is None else x.product[0]),
        move(fused, lambda x: x.highs if x.product is None else x.product[1]),
    ]  # fmt: skip


@family(Family.GATHER)
def gather(step: Step) -> Ranged:
    """Ranges are picked with the elements; an index in doubt leaves its element undecided."""
    x, index = step.operands
    made = Ranged(x.value, x.kind, x.low, x.high, x.flags).moved(
        lambda a: step.meaning(a, index.value)
    )
    if index.flags is None:
        return made
    open_ = anything(step.value, step.kind, index.flags)
    flags = flags_of(made, open_)
    if not step.kind.is_floating():
        return Ranged(step.value, step.kind, flags=flags)
    low, high = np.minimum(made.lows, open_.lows), np.maximum(made.highs, open_.highs)
    return Ranged(step.value, step.kind, low, high, flags)
