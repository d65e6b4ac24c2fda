"""Marks: which elements of a value are undefined or wrapped, and how that moves through operations.

A mark is a facet of a value (`tensor.marks`), owned by the checker of its cause: poison (a masked
load without `other`), division by zero, a shift past the width, a wrapped integer, a cast that
loses bits. Nothing is reported where a mark is born: only where a marked element reaches memory,
an address, a mask, a branch, a loop bound or an assertion does it decide anything.

Invariant: `lanes` is a boolean array that broadcasts to the value's shape. One rule for each
`Family` moves marks; `KILLS` lists the operations that end one. An unmarked value costs nothing.

What ends a mark, and why: `and`/`or` with an operand that decides the bit alone (a mask `m & p` is
defined where m is off); bit mixing, unsigned remainders and conversion to float end *wrapped*,
since hashes and random numbers wrap on purpose; the answer of a comparison with *nan* ends in a
float and where it only chooses (`tl.where(x > 0, x, 0)`), which is how NaN is discarded on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from blockstep.findings import Mark
from blockstep.language.op import Family, Op
from blockstep.language.types import dtype
from blockstep.language.value import tensor

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Taint:
    """The marked elements of one value, and where the first of them was born. `born` makes the
    `Mark`: nobody pays for its words unless it is reported. None: `born` has told the judge itself."""

    lanes: Any
    born: Callable[[], Mark | None]

    def with_lanes(self, lanes: Any) -> Taint:
        return Taint(lanes, self.born)


_WRAP_ENDS = frozenset({"and", "or", "xor", "lshr", "ashr", "umulhi", "philox", "histogram"})
KILLS: dict[str, frozenset[str]] = {"wrap": _WRAP_ENDS}

# The kind of finding that a mark becomes where it decides something.
KIND_OF = {
    "poison": "uninitialised",
    "unread": "uninitialised",
    "division": "division",
    "wrap": "overflow",
    "shift": "overflow",
    "cast": "cast",
    "nan": "precision",
}


def add(value: tensor, name: str, lanes: Any, born: Callable[[], Mark | None]) -> None:
    """Marks `lanes` of `value`, in addition to what is marked already."""
    marks = dict(value.marks) if value.marks else {}
    old = marks.get(name)
    marks[name] = Taint(lanes, born) if old is None else old.with_lanes(old.lanes | lanes)
    value.marks = marks


def spread(op: Op, operands: tuple[Any, ...], attributes: dict[str, Any], result: Any) -> None:
    """Gives `result` (a value, or a tuple of values) the marks that its operands carry into it."""
    results = result if isinstance(result, tuple) else (result,)
    names = {n for x in operands if isinstance(x, tensor) and x.marks for n in x.marks}
    for name in names:
        taints = _carriers(name, op, [_taint(x, name) for x in operands])
        found = next((t for t in taints if t is not None), None)
        if found is None:
            continue
        lanes = [_lanes(x, t) for x, t in zip(operands, taints, strict=True)]
        for each, marked in zip(
            results, moved(name, op, operands, attributes, lanes, results), strict=True
        ):
            if marked is not None and np.any(marked):
                add(each, name, marked, found.born)


def moved(
    name: str, op: Op, operands: Any, attributes: dict[str, Any], lanes: list[Any], results: Any
) -> list[Any]:
    """Which elements of each result carry a mark that `lanes` of the operands do (None: none).

    Operands and results have a `type` and a `handle`, whose arrays (and `lanes`) may lead with axes
    of program instances; those of operations that are not elementwise have every axis in full."""
    if op.name in KILLS.get(name, ()) or _leaves_integers(name, op, results[0]):
        return [None] * len(results)
    lanes = _carriers(name, op, lanes)
    if all(marked is None for marked in lanes):
        return [None] * len(results)
    return _RULES[op.family](op, operands, attributes, lanes, results)


def _carriers(name: str, op: Op, given: list[Any]) -> list[Any]:
    """What operands carry, without what the operation ignores: *nan* may choose between values."""
    return [None, *given[1:]] if name == "nan" and op.family is Family.SELECT else given


def _taint(x: Any, name: str) -> Taint | None:
    return x.marks.get(name) if isinstance(x, tensor) and x.marks else None


def _lanes(x: Any, taint: Taint | None) -> Any:
    return None if taint is None else np.broadcast_to(taint.lanes, np.shape(x.handle))


def _leaves_integers(name: str, op: Op, result: tensor) -> bool:
    if name not in ("wrap", "nan"):
        return False
    if result.type.scalar.is_floating():
        return True
    return name == "wrap" and op.name == "irem" and result.type.scalar.is_int_unsigned()


def _union(lanes: list[Any]) -> Any:
    out = None
    for marked in lanes:
        if marked is not None:
            out = marked if out is None else out | marked
    return out


def _elementwise(
    op: Op, operands: Any, attributes: Any, lanes: list[Any], results: Any
) -> list[Any]:
    if op.name in ("and", "or", "mul") and results[0].type.scalar.is_int():
        return [_absorbing(op.name, operands, lanes)]
    return [_union(lanes)] * len(results)


def _absorbing(name: str, operands: Any, lanes: list[Any]) -> Any:
    """An operand that is defined and decides the result alone: 0 for `and` and `*`, ones for `or`."""
    x, y = (operand.handle for operand in operands)
    ones = np.invert(np.zeros_like(x)) if name == "or" else np.zeros_like(x)
    left = np.zeros(np.shape(x), bool) if lanes[0] is None else lanes[0]
    right = np.zeros(np.shape(y), bool) if lanes[1] is None else lanes[1]
    decided = ((x == ones) & ~left) | ((y == ones) & ~right)
    return (left | right) & ~decided


def _select(op: Op, operands: Any, attributes: Any, lanes: list[Any], results: Any) -> list[Any]:
    condition, x, y = lanes
    off = np.zeros((), bool)
    chosen = np.where(operands[0].handle, off if x is None else x, off if y is None else y)
    return [chosen if condition is None else chosen | condition]


def _shape(op: Op, operands: Any, attributes: Any, lanes: list[Any], results: Any) -> list[Any]:
    marked = [
        np.zeros(np.shape(x.handle), bool) if lane is None else lane
        for x, lane in zip(operands, lanes, strict=True)
    ]
    assert op.meaning is not None
    moved = op.meaning(*marked, **attributes)
    return list(moved) if isinstance(moved, tuple) else [moved]


def _gather(op: Op, operands: Any, attributes: Any, lanes: list[Any], results: Any) -> list[Any]:
    source, index = lanes
    assert op.meaning is not None
    moved = None if source is None else op.meaning(source, operands[1].handle, **attributes)
    return [_union([moved, index])]


def _reduce(op: Op, operands: Any, attributes: Any, lanes: list[Any], results: Any) -> list[Any]:
    return [np.any(_union(lanes), axis=attributes["axis"])] * len(results)


def _scan(op: Op, operands: Any, attributes: Any, lanes: list[Any], results: Any) -> list[Any]:
    axis = attributes["axis"]
    marked = _union(lanes)
    if attributes.get("reverse"):
        marked = np.flip(np.logical_or.accumulate(np.flip(marked, axis), axis=axis), axis)
    else:
        marked = np.logical_or.accumulate(marked, axis=axis)
    return [marked] * len(results)


def _dot(op: Op, operands: Any, attributes: Any, lanes: list[Any], results: Any) -> list[Any]:
    """A product is marked where its row or its column holds a mark; the accumulator adds its own."""
    wanted = results[0].type
    out: Any = None
    for index, marked in enumerate(lanes):
        if marked is None:
            continue
        if index >= 2 and operands[index].type.shape == wanted.shape:
            spreaded = marked
        elif index == 0:
            spreaded = np.any(marked, axis=-1, keepdims=True)
        elif index == 1:
            spreaded = np.any(marked, axis=-2, keepdims=True)
        else:
            spreaded = _anywhere(marked, operands[index].type, wanted)
        out = spreaded if out is None else out | spreaded
    return [_stretched(out, wanted)]


def _mix(op: Op, operands: Any, attributes: Any, lanes: list[Any], results: Any) -> list[Any]:
    out = []
    for each in results:
        found = [
            None if marked is None else _anywhere(marked, x.type, each.type)
            for x, marked in zip(operands, lanes, strict=True)
        ]
        out.append(_stretched(_union(found), each.type))
    return out


def _anywhere(marked: Any, kind: dtype, wanted: dtype) -> Any:
    """Whether any element of a block is marked, as a block of another type's rank."""
    rank = len(kind.shape)
    found = np.asarray(np.any(marked, axis=tuple(range(-rank, 0))))
    return found.reshape(found.shape + (1,) * len(wanted.shape))


def _stretched(marked: Any, kind: dtype) -> Any:
    """To the full shape of a block, behind whatever leads."""
    lead = marked.shape[: marked.ndim - len(kind.shape)]
    return np.broadcast_to(marked, lead + kind.shape)


def _none(op: Op, operands: Any, attributes: Any, lanes: list[Any], results: Any) -> list[Any]:
    return [None] * len(results)


_RULES: dict[Family, Callable[..., list[Any]]] = {
    Family.SOURCE: _none,
    Family.ELEMENTWISE: _elementwise,
    Family.SELECT: _select,
    Family.SHAPE: _shape,
    Family.GATHER: _gather,
    Family.REDUCE: _reduce,
    Family.SCAN: _scan,
    Family.DOT: _dot,
    Family.MIX: _mix,
    Family.MEMORY: _none,
    Family.CONTROL: _none,
}
