"""Which elements of the operands one element of a result came from: one rule for each `Family`.

Invariant: every element that took part is among the parts or counted in `left_out`; those that decide
the result come first (the one that was chosen, the largest terms, NaN and infinities before all).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from blockstep.findings.blame import Role
from blockstep.interp.blame import products
from blockstep.interp.blame.ranking import chosen, largest
from blockstep.language.op import Family, Op

Index = tuple[int, ...]
MOST = 4  # terms that are told of


class Part(NamedTuple):
    """An element of an operand, and what it was to the result."""

    operand: int
    at: Index
    role: Role = "value"


@dataclass(frozen=True, slots=True)
class Parts:
    """What one element came from; `took` elements were combined (0: just the parts)."""

    parts: tuple[Part, ...]
    took: int = 0
    left_out: int = 0


def parts_of(
    op: Op, operands: list[Any], attributes: dict[str, Any], results: tuple[Any, ...],
    number: int, index: Index,
) -> Parts:  # fmt: skip
    """The parts of element `index` of result `number` of an operation that has a meaning (or gives
    its operand back)."""
    rule = _BY_NAME.get(op.name) or _RULES.get(op.family)
    if rule is None or not operands:
        return Parts(())
    return rule(op, operands, attributes, results, number, index)


def _at(x: Any, index: Index) -> Index:
    """The same element of an operand, whose axes of length 1 stand for all."""
    shape = x.type.shape
    own = index[len(index) - len(shape) :] if shape else ()
    return tuple([0 if n == 1 else i for n, i in zip(shape, own, strict=True)])


def _elementwise(
    op: Op, operands: Any, attributes: Any, results: Any, number: int, index: Index
) -> Parts:
    return Parts(tuple([Part(k, _at(x, index)) for k, x in enumerate(operands)]))


def _select(
    op: Op, operands: Any, attributes: Any, results: Any, number: int, index: Index
) -> Parts:
    at = _at(operands[0], index)
    side = 1 if np.broadcast_to(operands[0].handle, operands[0].type.shape)[at] else 2
    return Parts((Part(side, _at(operands[side], index)), Part(0, at, "condition")))


def _shape(
    op: Op, operands: Any, attributes: Any, results: Any, number: int, index: Index
) -> Parts:
    """The meaning moves the numbers of the elements as it moves the elements."""
    assert op.meaning is not None
    numbers, ends = [], [0]
    for x in operands:
        start = ends[-1]
        ends.append(start + x.numel)
        block = np.arange(start, ends[-1], dtype=np.int64).reshape(x.type.shape)
        numbers.append(block if x.type.shape else block[()])
    moved = op.meaning(*numbers, **attributes)
    moved = moved[number] if type(moved) is tuple else moved
    found = int(np.broadcast_to(moved, results[number].type.shape)[index])
    operand = int(np.searchsorted(ends, found, side="right")) - 1
    return Parts((Part(operand, _position(found - ends[operand], operands[operand])),))


def _position(flat: int, x: Any) -> Index:
    return tuple([int(i) for i in np.unravel_index(flat, x.type.shape)]) if x.type.shape else ()


def _gather(
    op: Op, operands: Any, attributes: Any, results: Any, number: int, index: Index
) -> Parts:
    assert op.meaning is not None
    x, at = operands
    positions = np.arange(x.numel, dtype=np.int64).reshape(x.type.shape)
    found = int(op.meaning(positions, at.handle, **attributes)[index])
    return Parts((Part(0, _position(found, x)), Part(1, index, "index")))


def _reduce(
    op: Op, operands: Any, attributes: Any, results: Any, number: int, index: Index
) -> Parts:
    axis, rank = attributes["axis"], len(operands[0].type.shape)
    place = axis % rank
    lines = [np.moveaxis(np.asarray(x.handle), place, -1)[index] for x in operands]
    values = [np.broadcast_to(r.handle, r.type.shape)[index] for r in results]

    def whole(position: int) -> Index:
        return (*index[:place], position, *index[place:])

    return _combined(lines, values, attributes["region"], number, whole)


def _scan(op: Op, operands: Any, attributes: Any, results: Any, number: int, index: Index) -> Parts:
    rank = len(operands[0].type.shape)
    place = attributes["axis"] % rank
    here, others = index[place], (*index[:place], *index[place + 1 :])
    back = bool(attributes.get("reverse"))
    first = here if back else 0
    cut = slice(here, None) if back else slice(0, here + 1)
    lines = [np.moveaxis(np.asarray(x.handle), place, -1)[others][cut] for x in operands]
    values = [np.broadcast_to(r.handle, r.type.shape)[index] for r in results]

    def whole(position: int) -> Index:
        return (*index[:place], first + position, *index[place + 1 :])

    return _combined(lines, values, attributes["region"], number, whole)


def _combined(
    lines: list[Any], values: list[Any], region: Any, number: int, whole: Callable[[int], Index]
) -> Parts:
    """The elements of a line that a region combined: the one that it chose, else the largest."""
    count = len(lines[0])
    at = chosen(lines, values, region)
    if at is not None:
        order = [number, *[k for k in range(len(lines)) if k != number]]
        parts = tuple([Part(k, whole(at), "value" if k == number else "condition") for k in order])
        return Parts(parts, count, count - 1)
    picked = largest(lines[number], values[number], MOST, region)
    parts = tuple([Part(number, whole(p), "term") for p in picked])
    return Parts(parts, count, count - len(parts))


def _dot(op: Op, operands: Any, attributes: Any, results: Any, number: int, index: Index) -> Parts:
    value = np.asarray(results[0].handle)[index]
    found = products.of(op, [x.handle for x in operands], attributes, index, value, MOST)
    parts: list[Part] = []
    if found.accumulator is not None:
        parts.append(Part(found.accumulator, index, "accumulator"))
    for left, right in found.pairs:
        parts += [Part(0, left, "left"), Part(1, right, "right")]
    parts += [Part(k, at, "value") for k, at in found.scales]
    return Parts(tuple(parts), found.count, found.count - len(found.pairs))


def _histogram(
    op: Op, operands: Any, attributes: Any, results: Any, number: int, index: Index
) -> Parts:
    counted = np.asarray(operands[0].handle) == index[0]
    if len(operands) > 1:
        counted = counted & operands[1].handle
    places = np.flatnonzero(counted)
    parts = tuple([Part(0, (int(p),), "term") for p in places[:MOST]])
    return Parts(parts, len(places), len(places) - len(parts))


def _packed(
    op: Op, operands: Any, attributes: Any, results: Any, number: int, index: Index
) -> Parts:
    """All of a group of neighbours."""
    pack = attributes["pack"]
    first = index[0] // pack * pack
    last = min(first + pack, operands[0].type.shape[0])
    own = [index[0], *[p for p in range(first, last) if p != index[0]]]
    parts = [Part(k, (p,)) for p in own for k in range(len(operands))]
    return Parts(tuple(parts[: 2 * MOST]), len(parts), max(len(parts) - 2 * MOST, 0))


def _scalars(
    op: Op, operands: Any, attributes: Any, results: Any, number: int, index: Index
) -> Parts:
    return Parts(tuple([Part(k, ()) for k in range(len(operands))]))


_Rule = Callable[[Op, Any, Any, Any, int, Index], Parts]
_BY_NAME: dict[str, _Rule] = {
    "hint": _elementwise,
    "histogram": _histogram,
    "map_packed": _packed,
    "asm_packed": _packed,
    "box_pointers": _scalars,
    "box_mask": _scalars,
}
_RULES: dict[Family, _Rule] = {
    Family.ELEMENTWISE: _elementwise,
    Family.SELECT: _select,
    Family.SHAPE: _shape,
    Family.GATHER: _gather,
    Family.REDUCE: _reduce,
    Family.SCAN: _scan,
    Family.DOT: _dot,
}

__all__ = ["MOST", "Part", "Parts", "parts_of"]
