"""Functions that move elements: reshape, permute, join and split, gather, histogram.

Shapes, axes and permutations are compile-time values, written as separate arguments or as one
tuple or list. Errors are ValueError and TypeError at the user's expression.
"""

from __future__ import annotations

import warnings
from typing import Any

from blockstep.language import promotion
from blockstep.language import types as ty
from blockstep.language.casting import bitcast
from blockstep.language.constant import unwrap
from blockstep.language.creation import block_shape
from blockstep.language.op import emit
from blockstep.language.ops import shape as ops
from blockstep.language.promotion import to_tensor
from blockstep.language.value import tensor
from blockstep.language.value import tuple as tl_tuple


def constants(values: Any) -> tuple[Any, ...]:
    """`f(x, 1, 0)` and `f(x, (1, 0))` alike: the variadic part as plain values."""
    if len(values) == 1:
        only = unwrap(values[0])
        if isinstance(only, (tuple, list, tl_tuple)):
            values = only
        else:
            values = (only,)
    return tuple([unwrap(v) for v in values])


def dimensions(values: Any) -> tuple[int, ...]:
    """The variadic shape arguments as a checked block shape.

    Raises TypeError for a run-time length and ValueError for one that is not a power of two."""
    shape = block_shape(constants(values))
    return ty.block_type(ty.int1, shape).shape if shape else ()


def axis_index(axis: Any, rank: int) -> int:
    """An axis counted from the left, from 0. Raises ValueError if there is no such axis."""
    axis = unwrap(axis)
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise TypeError(f"an axis is a constexpr integer, not {axis!r}")
    if not -rank <= axis < rank:
        raise ValueError(f"invalid axis {axis}. Expected {-rank} <= axis < {rank}")
    return int(axis if axis >= 0 else axis + rank)


def expand_dims(input: Any, axis: Any) -> Any:
    """`m n -> m 1 n`: a new axis of length 1 at each `axis` of the result.

    Raises ValueError for an axis out of range or given twice."""
    x, axis = to_tensor(input), unwrap(axis)
    wanted = list(axis) if isinstance(axis, (tuple, list, tl_tuple)) else [axis]
    rank = len(x.type.shape) + len(wanted)
    axes = [axis_index(a, rank) for a in wanted]
    if len(set(axes)) != len(axes):
        raise ValueError(f"expand_dims received duplicate axes, normalized axes = {axes}")
    for a in sorted(axes):
        rank = len(x.type.shape)
        x = emit(ops.EXPAND_DIMS, x, axis=a, rank=rank) if rank else promotion.broadcast_to(x, (1,))
    return x


def unsqueeze(input: Any, dim: Any) -> Any:
    """`m n -> m 1 n`: a new axis of length 1 at `dim` of the result."""
    return expand_dims(input, dim)


def squeeze(input: Any, dim: Any) -> Any:
    """`m 1 n -> m n`: without axis `dim`, whose length must be 1 (else ValueError)."""
    x = to_tensor(input)
    axis = axis_index(dim, len(x.type.shape))
    if x.type.shape[axis] != 1:
        raise ValueError(f"squeeze: axis {axis} of {list(x.type.shape)} is not of length 1")
    return _reshape(x, x.type.shape[:axis] + x.type.shape[axis + 1 :])


def _reshape(x: tensor, shape: tuple[int, ...]) -> Any:
    if x.type.shape == shape:
        return x
    return emit(ops.RESHAPE, x, shape=shape, rank=len(x.type.shape))


def reshape(input: Any, *shape: Any, can_reorder: Any = False) -> Any:
    """`m n -> k l`: the same elements, in row-major order (also with `can_reorder`).

    Raises ValueError if the number of elements changes."""
    return _reshape(to_tensor(input), dimensions(shape))


def view(input: Any, *shape: Any) -> Any:
    """`m n -> k l`: `reshape` under its old name; compiled code may reorder the elements."""
    warnings.warn("view is deprecated; use reshape with can_reorder=True", stacklevel=2)
    return reshape(input, *shape)


def item(input: Any) -> Any:
    """`1 1 ->`: the only element of a block, as a scalar. ValueError if there are more."""
    return _reshape(to_tensor(input), ())


def permute(input: Any, *dims: Any) -> Any:
    """`m n -> n m`: axis i of the result is axis `dims[i]` of the input.

    Raises ValueError unless `dims` is a permutation of all axes."""
    x, order = to_tensor(input), constants(dims)
    if len(order) != len(x.type.shape):
        raise ValueError("permute dims must have the same length as input shape")
    if sorted(order) != list(range(len(order))):
        raise ValueError(f"permute dims must be a permutation of 0, 1, ..., n-1, but were {order}")
    return emit(ops.PERMUTE, x, dims=order)


def trans(input: Any, *dims: Any) -> Any:
    """`m n -> n m`: the last two axes swapped, or the axes in the order `dims`."""
    if constants(dims):
        return permute(input, *dims)
    x = to_tensor(input)
    rank = len(x.type.shape)
    if rank < 2:
        raise ValueError("tl.trans invoked with a 0- or 1-dimensional tensor")
    return emit(ops.PERMUTE, x, dims=(*range(rank - 2), rank - 1, rank - 2))


def broadcast(input: Any, other: Any) -> Any:
    """`m 1, 1 n -> m n, m n`: both blocks stretched to their common shape."""
    return promotion.broadcast(to_tensor(input), to_tensor(other))


def broadcast_to(input: Any, *shape: Any) -> Any:
    """`m 1 -> m n`: the block stretched to `shape`; a scalar is repeated."""
    return promotion.broadcast_to(to_tensor(input), dimensions(shape))


def join(a: Any, b: Any) -> Any:
    """`n, n -> n 2`: the two side by side on a new last axis (two scalars: `-> 2`).

    Raises TypeError if the element types differ by more than the sign: it is then a's."""
    left, right = promotion.broadcast(to_tensor(a), to_tensor(b))
    right = _signed_as(right, left.type.scalar)
    if left.type is not right.type:
        raise TypeError(f"join takes two blocks of one type, not {left.type} and {right.type}")
    return emit(ops.JOIN, left, right)


def _signed_as(x: tensor, target: ty.dtype) -> tensor:
    """An integer with the sign of another of its width (Triton's IR knows none), others as is."""
    source = x.type.scalar
    if source.is_int() and target.is_int() and source.int_bitwidth == target.int_bitwidth:
        return bitcast(x, target)
    return x


def split(a: Any) -> Any:
    """`n 2 -> n, n`: the two halves of the last axis, which has length 2 (`2 ->` two scalars)."""
    x = to_tensor(a)
    if not x.type.shape or x.type.shape[-1] != 2:
        raise ValueError(f"split takes a last axis of length 2, not shape {list(x.type.shape)}")
    return emit(ops.SPLIT, x)


def interleave(a: Any, b: Any) -> Any:
    """`m n, m n -> m 2n`: a[0], b[0], a[1], b[1], … along the last axis."""
    joined = join(a, b)
    shape = joined.type.shape
    return joined if len(shape) == 1 else _reshape(joined, (*shape[:-2], 2 * shape[-2]))


def cat(input: Any, other: Any, can_reorder: Any = False, dim: Any = 0) -> Any:
    """`m n, m n -> 2m n`: `other` after `input` along `dim`; compiled code may use
    `can_reorder=True` to give the elements in another order.

    Raises ValueError if the shapes differ and TypeError if the element types differ by more than
    the sign: it is then that of `input`."""
    a, b = to_tensor(input), to_tensor(other)
    b = _signed_as(b, a.type.scalar)
    if a.type.shape != b.type.shape or not a.type.shape:
        raise ValueError(f"cat takes two blocks of one shape, not {a.type} and {b.type}")
    if a.type is not b.type:
        raise TypeError(f"cat takes two blocks of one type, not {a.type} and {b.type}")
    if unwrap(can_reorder) and len(a.type.shape) != 1:
        raise ValueError("cat with can_reorder=True takes 1-D blocks")
    rank = len(a.type.shape)
    return emit(ops.CAT, a, b, axis=axis_index(dim, rank) - rank)


def ravel(x: Any, can_reorder: Any = False) -> Any:
    """`m n -> mn`: all elements on one axis."""
    x = to_tensor(x)
    return _reshape(x, (x.numel,))


def flip(x: Any, dim: Any = None) -> Any:
    """`m n -> m n`: reversed along `dim` (default: the last axis)."""
    x = to_tensor(x)
    rank = len(x.type.shape)
    axis = axis_index(-1 if unwrap(dim) is None else dim, rank)
    return emit(ops.FLIP, x, axis=axis - rank)


def gather(src: Any, index: Any, axis: Any) -> Any:
    """`m n, m k -> m k`: `src[i, index[i, j]]` for `axis=1`. The index has no defined result
    outside of the axis.

    Raises TypeError for a float index and ValueError if ranks or other axes differ."""
    x, at = to_tensor(src), to_tensor(index)
    if not at.type.scalar.is_int():
        raise TypeError(f"gather takes an integer index, not {at.type}")
    rank = len(x.type.shape)
    if len(at.type.shape) != rank:
        raise ValueError("gather takes a source and an index of the same rank")
    along = axis_index(axis, rank)
    for d in range(rank):
        if d != along and at.type.shape[d] != x.type.shape[d]:
            raise ValueError(
                f"gather: axis {d} of the index is {at.type.shape[d]}, of the source "
                f"{x.type.shape[d]}; only axis {along} may differ"
            )
    return emit(ops.GATHER, x, at, axis=along - rank)


def histogram(input: Any, num_bins: Any, mask: Any = None) -> Any:
    """`n -> num_bins` int32: how many elements have each value 0 … num_bins - 1; elements where
    `mask` is false do not count, values outside of the bins have no defined result.

    Raises ValueError unless `input` is 1-D and the mask boolean, TypeError for floats."""
    x, bins, on = to_tensor(input), unwrap(num_bins), unwrap(mask)
    if len(x.type.shape) != 1:
        raise ValueError("histogram only supports 1D input")
    if not x.type.scalar.is_int():
        raise TypeError("histogram only supports integer input")
    if on is None:
        return emit(ops.HISTOGRAM, x, bins=bins)
    on = promotion.broadcast_to(to_tensor(on), x.type.shape)
    if not on.type.scalar.is_bool():
        raise ValueError("Mask must have boolean scalar type")
    return emit(ops.HISTOGRAM, x, on, bins=bins)


__all__ = [
    "broadcast",
    "broadcast_to",
    "cat",
    "expand_dims",
    "flip",
    "gather",
    "histogram",
    "interleave",
    "item",
    "join",
    "permute",
    "ravel",
    "reshape",
    "split",
    "squeeze",
    "trans",
    "unsqueeze",
    "view",
]
