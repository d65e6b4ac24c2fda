"""Births: where each NaN of a value came from, and how that moves through operations.

The facet `tensor.births`, owned by the precision checker: an id for every element that is NaN. An
id names an `Origin` (one operation, of one program instance, that made NaN of numbers, or met it in
memory) and a position in the block that it made.

Invariant: an element of a float value has an id exactly where it is NaN, so whatever discards NaN
(a select, a maximum, an atomic that keeps the other) also ends its id. Integers keep the ids of the
bits that they were made from (a bitcast, a sort by bits); an id of theirs is only looked at again
where the bits become a float. One rule for each `Family` moves ids; where several operands are NaN,
the first one's id goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from blockstep.findings import Birth
from blockstep.interp.forms import compact
from blockstep.language.op import Family, Op
from blockstep.language.value import tensor

Ids = npt.NDArray[np.int64]
Attributes = dict[str, Any]
_POSITION = 32  # bits of an id that are the position; above them, the origin's number


class Origin:
    """One operation that brought NaN into the world. `tell` makes the `Birth` of one position, from
    operands that it keeps alive; `settle` lets go of them, and one position stands for all."""

    __slots__ = ("_tell", "_told", "number")

    def __init__(self, number: int, tell: Callable[[int], Birth]) -> None:
        self.number = number
        self._tell: Callable[[int], Birth] | None = tell
        self._told: Birth | None = None

    def birth(self, position: int) -> Birth:
        """How the NaN at a position came to be."""
        if self._tell is not None:
            return self._tell(position)
        assert self._told is not None
        return self._told

    def settle(self, position: int) -> None:
        """Keeps the birth of one position, and no operands."""
        if self._tell is not None:
            self._told, self._tell = self._tell(position), None

    def ids(self, positions: Any) -> Ids:
        """The ids of positions in the block."""
        return np.asarray((self.number << _POSITION) + np.asarray(positions, np.int64))


Origins = dict[int, Origin]


@dataclass(frozen=True, slots=True, eq=False)
class Births:
    """An id for each element (0: not NaN), and the origins that ids name, by number."""

    ids: Ids
    origins: Origins

    @classmethod
    def of(cls, ids: Ids, origins: Origins) -> Births:
        """With those of the origins that are named."""
        named = np.unique(ids >> _POSITION).tolist()
        return cls(ids, {n: origins[n] for n in named if n})

    def birth(self, index: int) -> Birth:
        """How the element at a flat index was born."""
        origin, position = self._named(index)
        return origin.birth(position)

    def settle(self) -> None:
        """Ends that operands are kept: each origin remembers the first of its elements here."""
        flat = np.ravel(self.ids)
        for number, origin in self.origins.items():
            origin.settle(self._named(int(np.argmax(flat >> _POSITION == number)))[1])

    def _named(self, index: int) -> tuple[Origin, int]:
        found = int(np.ravel(self.ids)[index])
        return self.origins[found >> _POSITION], found & ((1 << _POSITION) - 1)


class Register:
    """Numbers the origins of one launch."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, ids: Any, origins: Origins, fresh: Any, tell: Callable[[int], Birth]) -> Ids:
        """`ids`, with the elements that are `fresh` born in a new origin, which joins `origins`."""
        self._count += 1
        origin = origins[self._count] = Origin(self._count, tell)
        positions = np.arange(ids.size, dtype=np.int64).reshape(ids.shape)
        return np.asarray(np.where(fresh, origin.ids(positions), ids))


def births_of(x: Any) -> Births | None:
    """The facet; None of almost every value."""
    return getattr(x, "births", None)


def unshared(x: tensor) -> tensor:
    """`x`, or a copy of it: a constant, and what was made of it, belongs to other launches as well."""
    if x.form is None or x.form.memo is None:
        return x
    plain = tensor(x.handle, x.type)
    plain.marks, plain.bounds, plain.origin = x.marks, x.bounds, x.origin
    return plain


def give(x: tensor, ids: Ids, origins: Origins) -> tensor:
    """`x`, or a copy of it, with births."""
    x = unshared(x)
    x.births = Births.of(ids, origins)
    return x


def nans(x: tensor) -> Any:
    """Which elements are NaN, in the value's shape; None where none is."""
    found = np.isnan(compact(x))
    return np.broadcast_to(found, x.type.shape) if found.any() else None


def gathered(operands: tuple[Any, ...]) -> Origins:
    """The origins of all operands."""
    found: Origins = {}
    for x in operands:
        births = births_of(x)
        if births is not None:
            found.update(births.origins)
    return found


def moved(op: Op, operands: tuple[Any, ...], attributes: Attributes, results: Any) -> list[Ids]:
    """For each result, the ids that the operands' elements bring into it, NaN or not."""
    given = [births_of(x) for x in operands]
    ids = [None if b is None else b.ids for b in given]
    rule = _RULES.get(op.family)
    if rule is None or all(i is None for i in ids):
        found: list[Any] = [np.int64(0)] * len(results)
    else:
        found = rule(op, operands, attributes, ids, results)
    return [np.broadcast_to(f, r.type.shape) for f, r in zip(found, results, strict=True)]


def _first(ids: list[Any]) -> Any:
    """Element by element, the id of the first operand that has one."""
    out: Any = np.int64(0)
    for each in ids:
        if each is not None:
            out = np.where(out != 0, out, each)
    return out


def _elementwise(op: Op, operands: Any, attributes: Attributes, ids: Any, results: Any) -> Any:
    return [_first(ids)] * len(results)


def _select(op: Op, operands: Any, attributes: Attributes, ids: Any, results: Any) -> Any:
    none = np.int64(0)
    _, x, y = (none if i is None else i for i in ids)
    return [np.where(operands[0].handle, x, y)]


def _shape(op: Op, operands: Any, attributes: Attributes, ids: Any, results: Any) -> Any:
    full = [
        np.zeros(x.type.shape, np.int64) if i is None else i
        for x, i in zip(operands, ids, strict=True)
    ]
    assert op.meaning is not None
    found = op.meaning(*full, **attributes)
    return list(found) if isinstance(found, tuple) else [found]


def _gather(op: Op, operands: Any, attributes: Attributes, ids: Any, results: Any) -> Any:
    assert op.meaning is not None
    return [np.int64(0) if ids[0] is None else op.meaning(ids[0], operands[1].handle, **attributes)]


def _own_first(ids: list[Any], index: int) -> Any:
    """For the result that belongs to one of several operands: its ids before the others'."""
    return _first([ids[index], *ids[:index], *ids[index + 1 :]])


def _reduce(op: Op, operands: Any, attributes: Attributes, ids: Any, results: Any) -> Any:
    return [_along(_own_first(ids, k), attributes["axis"]) for k in range(len(results))]


def _along(ids: Any, axis: int) -> Any:
    """The first id along an axis, which goes."""
    at = np.expand_dims(np.argmax(ids != 0, axis=axis), axis)
    return np.squeeze(np.take_along_axis(ids, at, axis), axis)


def _scan(op: Op, operands: Any, attributes: Attributes, ids: Any, results: Any) -> Any:
    axis, back = attributes["axis"], bool(attributes.get("reverse"))
    found = []
    for k in range(len(results)):
        own = np.flip(_own_first(ids, k), axis) if back else _own_first(ids, k)
        reached = np.logical_or.accumulate(own != 0, axis=axis)
        spread = np.where(reached, np.expand_dims(_along(own, axis), axis), 0)
        found.append(np.flip(spread, axis) if back else spread)
    return found


def _dot(op: Op, operands: Any, attributes: Attributes, ids: Any, results: Any) -> Any:
    """From a row of the first operand, else a column of the second, else from the accumulator."""
    shape = results[0].type.shape
    parts = []
    for index, each in enumerate(ids):
        if each is None:
            continue
        if index < 2:
            axis = -1 if index == 0 else -2
            parts.append(np.expand_dims(_along(each, axis), axis))
        elif each.shape == shape:
            parts.append(each)
        else:  # a scale
            parts.append(_anywhere([each]))
    return [_first(parts)]


def _mix(op: Op, operands: Any, attributes: Attributes, ids: Any, results: Any) -> Any:
    return [_anywhere(ids)] * len(results)


def _anywhere(ids: list[Any]) -> Any:
    some = [i[i != 0] for i in (np.ravel(each) for each in ids if each is not None)]
    return next((i[0] for i in some if i.size), np.int64(0))


_RULES: dict[Family, Callable[..., list[Any]]] = {
    Family.ELEMENTWISE: _elementwise,
    Family.SELECT: _select,
    Family.SHAPE: _shape,
    Family.GATHER: _gather,
    Family.REDUCE: _reduce,
    Family.SCAN: _scan,
    Family.DOT: _dot,
    Family.MIX: _mix,
}
