"""Which products of a matrix product made one of its elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.interp.blame.ranking import largest
from blockstep.language.numerics import tensorcore
from blockstep.language.op import Op

Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The operand that is the accumulator (None: none), pairs of elements of the first two operands,
    elements of the scales (operand, index), and how many products there are."""

    accumulator: int | None
    pairs: tuple[tuple[Index, Index], ...]
    scales: tuple[tuple[int, Index], ...]
    count: int


def of(
    op: Op, arrays: list[Any], attributes: dict[str, Any], index: Index, value: Any, most: int
) -> Found:
    """The largest products of one element of a `dot` or `dot_scaled`."""
    *batch, row, column = index
    lead = tuple(batch)
    if op.name == "dot_scaled":
        return _scaled(arrays, attributes, lead, row, column, value, most)
    a, b = _numbers(arrays[0][(*lead, row)]), _numbers(arrays[1][(*lead, slice(None), column)])
    picked = _largest(a, b, value, most)
    pairs = tuple([((*lead, row, k), (*lead, k, column)) for k in picked])
    return Found(2 if len(arrays) > 2 else None, pairs, (), len(a))


def _largest(a: Any, b: Any, value: Any, most: int) -> list[int]:
    with np.errstate(all="ignore"):
        return largest(a * b, value, most)


def _numbers(x: Any) -> Any:
    """Operands as float64: exact for all that the units take but 64-bit integers."""
    if x.dtype in (np.float64, np.float32) or x.dtype.kind in "i":
        return x.astype(np.float64)
    return tensorcore.operand(x).astype(np.float64)


def _scaled(
    arrays: list[Any], attributes: dict[str, Any], lead: Index, row: int, column: int, value: Any,
    most: int,
) -> Found:  # fmt: skip
    """Of operands in microscaling formats: an element of a packed one holds two numbers."""
    rest = iter(range(2, len(arrays)))
    numbers = [next(rest) if there else None for there in attributes["present"]]
    a_scale, b_scale, accumulator = numbers
    packs, formats = attributes["packs"], attributes["formats"]
    left: Any = tensorcore.scaled_operand(
        arrays[0], None if a_scale is None else arrays[a_scale], formats[0], "float32",
        k_axis=-1, k_pack=packs[0],
    )  # fmt: skip
    right: Any = tensorcore.scaled_operand(
        arrays[1], None if b_scale is None else arrays[b_scale], formats[1], "float32",
        k_axis=-2, k_pack=packs[1],
    )  # fmt: skip
    a, b = left[(*lead, row)], right[(*lead, slice(None), column)]
    picked = _largest(a.astype(np.float64), b.astype(np.float64), value, most)
    pairs, scales = [], []
    for k in picked:
        first = _stored(row, k, formats[0], packs[0])
        second = _stored(column, k, formats[1], packs[1])
        pairs.append(((*lead, *first), (*lead, second[1], second[0])))
        for scale, at in ((a_scale, row), (b_scale, column)):
            if scale is not None:
                group = len(a) // arrays[scale].shape[-1]
                place = scale, (*lead, at, k // group)
                if place not in scales:
                    scales.append(place)
    return Found(accumulator, tuple(pairs), tuple(scales), len(a))


def _stored(outer: int, k: int, form: str, packed_along_k: bool) -> tuple[int, int]:
    """Where element k of a row (or column) is stored."""
    if form != "e2m1":
        return outer, k
    return (outer, k // 2) if packed_along_k else (outer // 2, k)


__all__ = ["Found", "of"]
