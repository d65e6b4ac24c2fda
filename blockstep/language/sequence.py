"""Scalar functions that cannot be a region, run once for each element through the machine in force.

A function that branches on a value, prints, asserts or touches memory is called with scalars, in
an order that the language leaves open: here, along the axis from its first element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from blockstep.language.op import emit
from blockstep.language.ops import shape as ops
from blockstep.language.promotion import to_tensor
from blockstep.language.region import as_type, check_count, is_tuple, results_of
from blockstep.language.types import dtype
from blockstep.language.value import tensor

Scalars = tuple[tensor, ...]


def positions(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every multi-index of a block, in row-major order."""
    return product(*map(range, shape))


def elements(blocks: Sequence[tensor], index: tuple[int, ...]) -> Scalars:
    """The scalars at one multi-index."""
    return tuple(emit(ops.ELEMENT, x, index=index) for x in blocks)


def collected(rows: Sequence[Scalars], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Rows of scalars, one a position, as one block (or scalar) for each column."""
    if not shape:
        return rows[0]
    return tuple(emit(ops.COLLECT, *column, shape=shape) for column in zip(*rows, strict=True))


def _combined(function: Callable[..., Any], left: Scalars, right: Scalars) -> Scalars:
    types: tuple[dtype, ...] = tuple(x.type for x in left)
    returned = results_of(function(*left, *right))
    check_count(returned, types)
    return tuple(as_type(r, t) for r, t in zip(returned, types, strict=True))


def _line(rest: tuple[int, ...], axis: int, n: int) -> list[tuple[int, ...]]:
    """The multi-indices along `axis` through the position `rest` on the other axes."""
    return [(*rest[:axis], i, *rest[axis:]) for i in range(n)]


def reduce_each(
    inputs: Sequence[tensor], axis: int, function: Callable[..., Any]
) -> tuple[Any, ...]:
    """`m n, … -> m, …`: the elements of each line folded from the left."""
    shape = inputs[0].type.shape
    others = shape[:axis] + shape[axis + 1 :]
    rows = []
    for rest in positions(others):
        first, *more = _line(rest, axis, shape[axis])
        total = elements(inputs, first)
        for index in more:
            total = _combined(function, total, elements(inputs, index))
        rows.append(total)
    return collected(rows, others)


def scan_each(
    inputs: Sequence[tensor], axis: int, function: Callable[..., Any], reverse: bool
) -> tuple[Any, ...]:
    """`m n, … -> m n, …`: the running combination along each line."""
    shape = inputs[0].type.shape
    found: dict[tuple[int, ...], Scalars] = {}
    for rest in positions(shape[:axis] + shape[axis + 1 :]):
        line = _line(rest, axis, shape[axis])
        first, *more = reversed(line) if reverse else line
        total = found[first] = elements(inputs, first)
        for index in more:
            total = found[index] = _combined(function, total, elements(inputs, index))
    return collected([found[index] for index in positions(shape)], shape)


def map_each(
    inputs: Sequence[tensor], function: Callable[..., Any], pack: int
) -> tuple[tuple[Any, ...], bool]:
    """The function on `pack` neighbouring elements at a time: its result blocks (it returns `pack`
    values for each), and whether it returned a tuple."""
    shape = inputs[0].type.shape
    places = list(positions(shape))
    rows: list[Scalars] = []
    bundled = False
    for start in range(0, len(places), pack):
        group = [elements(inputs, index) for index in places[start : start + pack]]
        arguments = [group[lane][i] for i in range(len(inputs)) for lane in range(pack)]
        returned = function(*arguments)
        values = [to_tensor(r) for r in results_of(returned)]
        bundled = is_tuple(returned)
        check_pack(len(values), pack)
        rows.extend(tuple(values[lane::pack]) for lane in range(pack))
    check_uniform(rows)
    return collected(rows, shape), bundled


def check_pack(count: int, pack: int) -> None:
    """Raises ValueError unless the values returned divide among the packed elements."""
    if count % pack:
        raise ValueError(f"the function returns {count} values for {pack} elements at a time")


def check_uniform(rows: Sequence[Scalars]) -> None:
    """Raises TypeError if two elements got results of different types."""
    for row in rows:
        if [x.type for x in row] != [x.type for x in rows[0]]:
            raise TypeError(
                "the mapped function returns other types for some elements: "
                f"{[str(x.type) for x in row]} and {[str(x.type) for x in rows[0]]}"
            )


__all__ = ["map_each", "reduce_each", "scan_each"]
