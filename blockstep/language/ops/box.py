"""Pointers and masks of a rectangular block: what block pointers and tensor descriptors stand for.

Offsets, strides and limits are scalars; positions are computed in 64 bits, as the hardware does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.language import types as ty
from blockstep.language.op import Family, define


def _positions(offset: Any, axis: int, shape: tuple[int, ...]) -> Any:
    """`offset + 0, 1, …` along one axis, shaped to broadcast over the block."""
    dims = [1] * len(shape)
    dims[axis] = shape[axis]
    lead = np.asarray(offset, np.int64)
    steps = np.arange(shape[axis], dtype=np.int64).reshape(dims)
    return lead.reshape(lead.shape + (1,) * len(shape)) + steps


def _spread(x: Any, shape: tuple[int, ...]) -> Any:
    x = np.asarray(x, np.int64)
    return x.reshape(x.shape + (1,) * len(shape))


def _pointers(base: Any, *parts: Any, shape: tuple[int, ...], itemsize: int, **_: bool) -> Any:
    rank = len(shape)
    out = _spread(base, shape)
    for axis in range(rank):
        place = _positions(parts[axis], axis, shape)
        out = out + place * (_spread(parts[rank + axis], shape) * itemsize)
    return np.broadcast_to(out, out.shape[: out.ndim - rank] + shape)


BOX_POINTERS = define(
    "box_pointers",
    Family.MIX,
    lambda base, *_, shape, **__: ty.blocked(base.scalar, shape),
    _pointers,
    "`-> m n`: base + (offset + position) . strides, for offsets and strides along each axis. They "
    "are those of a descriptor if `described`, and of an array that a copy engine finds if `engine`.",
)


def _mask(*parts: Any, axes: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    count = len(axes)
    out: Any = np.ones((1,) * len(shape), bool)
    for number, axis in enumerate(axes):
        place = _positions(parts[number], axis, shape)
        out = out & (place >= 0) & (place < _spread(parts[count + number], shape))
    return np.broadcast_to(out, out.shape[: out.ndim - len(shape)] + shape)


BOX_MASK = define(
    "box_mask",
    Family.MIX,
    lambda *_, shape, **__: ty.blocked(ty.int1, shape),
    _mask,
    "`-> m n` int1: whether 0 <= offset + position < limit, along the guarded axes.",
)
