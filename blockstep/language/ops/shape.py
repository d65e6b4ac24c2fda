"""Operations that only move elements. Their meanings never look at a value, so marks move by them
too."""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.language import types as ty
from blockstep.language.op import Family, define


def _expanded(x: ty.dtype, *, axis: int, **_: Any) -> ty.dtype:
    dims = list(x.shape)
    dims.insert(axis, 1)
    return ty.block_type(x.scalar, dims)


EXPAND_DIMS = define(
    "expand_dims",
    Family.SHAPE,
    _expanded,
    lambda x, axis, rank: np.expand_dims(x, axis - rank - 1),
    "`m n -> m 1 n`: a new axis of length 1.",
)


def _lead(x: Any, rank: int) -> tuple[int, ...]:
    """The leading lane axes of an operand whose block has `rank` axes."""
    shape: tuple[int, ...] = np.shape(x)
    return shape[: len(shape) - rank]


def _reshaped(x: ty.dtype, *, shape: tuple[int, ...], **_: Any) -> ty.dtype:
    target = ty.blocked(x.scalar, shape)
    if _count(x.shape) != _count(shape):
        raise ValueError(
            f"reshape() cannot change the number of elements: {list(x.shape)} has "
            f"{_count(x.shape)}, {list(shape)} has {_count(shape)}"
        )
    return target


def _count(shape: tuple[int, ...]) -> int:
    numel = 1
    for n in shape:
        numel *= n
    return numel


def _reshape(x: Any, shape: tuple[int, ...], rank: int) -> Any:
    moved = np.reshape(x, _lead(x, rank) + shape)
    return moved if moved.ndim else moved[()]


RESHAPE = define(
    "reshape",
    Family.SHAPE,
    _reshaped,
    _reshape,
    "`m n -> k l`: the same elements in the same order; to `()` it takes the only element.",
)


def _permuted(x: ty.dtype, *, dims: tuple[int, ...]) -> ty.dtype:
    return ty.block_type(x.scalar, [x.shape[d] for d in dims])


def _permute(x: Any, dims: tuple[int, ...]) -> Any:
    lead = np.ndim(x) - len(dims)
    return np.transpose(x, tuple(range(lead)) + tuple(lead + d for d in dims))


PERMUTE = define("permute", Family.SHAPE, _permuted, _permute, "`m n -> n m`: axes reordered.")


FLIP = define(
    "flip",
    Family.SHAPE,
    lambda x, axis: x,
    lambda x, axis: np.flip(x, axis),
    "`m n -> m n`: elements in reverse order along one axis.",
)

JOIN = define(
    "join",
    Family.SHAPE,
    lambda a, b: ty.block_type(a.scalar, (*a.shape, 2)),
    lambda a, b: np.stack([a, b], axis=-1),
    "`n, n -> n 2`: two blocks side by side on a new last axis.",
)


def _halves(x: ty.dtype) -> tuple[ty.dtype, ty.dtype]:
    half = ty.blocked(x.scalar, x.shape[:-1])
    return half, half


SPLIT = define(
    "split",
    Family.SHAPE,
    _halves,
    lambda x: (x[..., 0], x[..., 1]),
    "`n 2 -> n, n`: the two halves of a last axis of length 2.",
)


def _concatenated(a: ty.dtype, b: ty.dtype, *, axis: int) -> ty.dtype:
    dims = list(a.shape)
    dims[axis] += b.shape[axis]
    return ty.block_type(a.scalar, dims)


CAT = define(
    "cat",
    Family.SHAPE,
    _concatenated,
    lambda a, b, axis: np.concatenate([a, b], axis=axis),
    "`m n, m n -> m 2n`: one block after the other along an axis.",
)

ELEMENT = define(
    "element",
    Family.SHAPE,
    lambda x, index: x.scalar,
    lambda x, index: x[(..., *index)],
    "`m n ->`: the scalar at a constant multi-index.",
)


def _collect(*scalars: Any, shape: tuple[int, ...]) -> Any:
    stacked = np.stack(np.broadcast_arrays(*scalars), axis=-1)
    return np.reshape(stacked, stacked.shape[:-1] + shape)


COLLECT = define(
    "collect",
    Family.SHAPE,
    lambda *scalars, shape: ty.blocked(scalars[0], shape),
    _collect,
    "`, , … -> m n`: scalars laid out as a block, in row-major order.",
)


def _gather(x: Any, index: Any, axis: int) -> Any:
    """An index outside of the axis has no defined result; here it reads the nearest element."""
    rank = max(np.ndim(x), np.ndim(index))
    x, index = (np.reshape(v, (1,) * (rank - np.ndim(v)) + np.shape(v)) for v in (x, index))
    inside = np.clip(index, 0, x.shape[axis] - 1).astype(np.int64)
    return np.take_along_axis(x, inside, axis)


GATHER = define(
    "gather",
    Family.GATHER,
    lambda x, index, axis: ty.blocked(x.scalar, index.shape),
    _gather,
    "`m n, m k -> m k`: elements picked along an axis by an index block.",
)


def _histogram(x: Any, mask: Any = None, *, bins: int) -> Any:
    """Counts by one `bincount` over all lanes: lane `l` counts in bins `l * bins …`."""
    counted = (x >= 0) & (x < bins)
    if mask is not None:
        counted = counted & mask
    lanes = np.shape(counted)[:-1]
    rows = np.arange(_count(lanes), dtype=np.int64).reshape(*lanes, 1) * bins
    slots = (np.broadcast_to(x, counted.shape).astype(np.int64) + rows)[counted]
    counts = np.bincount(slots, minlength=_count(lanes) * bins)
    return counts.astype(np.int32).reshape(*lanes, bins)


HISTOGRAM = define(
    "histogram",
    Family.MIX,
    lambda x, mask=None, *, bins: ty.block_type(ty.int32, (bins,)),
    _histogram,
    "`n, n int1 -> bins` int32: how many elements have each value in 0 … bins - 1.",
)
