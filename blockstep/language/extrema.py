"""Greatest and least elements, with and without their indices.

Without indices everything below 32 bits is compared in 32 bits and a NaN never wins. With indices
the type stays (bfloat16: float32), and a NaN loses every comparison, so that what wins beside one
depends on the order of the reduction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blockstep.language import creation
from blockstep.language import types as ty
from blockstep.language.casting import cast
from blockstep.language.elementwise import (
    and_,
    equal,
    greater_than,
    less_than,
    maximum,
    minimum,
    or_,
    where,
)
from blockstep.language.library import library
from blockstep.language.promotion import broadcast_to, to_tensor
from blockstep.language.reduction import reduce
from blockstep.language.shape import axis_index, expand_dims


@library
def _argmax_combine(
    value1: Any, index1: Any, value2: Any, index2: Any, tie_break_left: Any
) -> tuple[Any, Any]:
    """The greater value with its index; with a NaN both comparisons fail and the right one stays."""
    first = greater_than(value1, value2)
    if tie_break_left:
        first = or_(first, and_(equal(value1, value2), less_than(index1, index2)))
    return where(first, value1, value2), where(first, index1, index2)


@library
def _argmin_combine(
    value1: Any, index1: Any, value2: Any, index2: Any, tie_break_left: Any
) -> tuple[Any, Any]:
    """The lesser value with its index; with a NaN both comparisons fail and the right one stays."""
    first = less_than(value1, value2)
    if tie_break_left:
        first = or_(first, and_(equal(value1, value2), less_than(index1, index2)))
    return where(first, value1, value2), where(first, index1, index2)


@library
def _argmax_combine_tie_break_left(value1: Any, index1: Any, value2: Any, index2: Any) -> Any:
    return _argmax_combine(value1, index1, value2, index2, True)


@library
def _argmax_combine_tie_break_fast(value1: Any, index1: Any, value2: Any, index2: Any) -> Any:
    return _argmax_combine(value1, index1, value2, index2, False)


@library
def _argmin_combine_tie_break_left(value1: Any, index1: Any, value2: Any, index2: Any) -> Any:
    return _argmin_combine(value1, index1, value2, index2, True)


@library
def _argmin_combine_tie_break_fast(value1: Any, index1: Any, value2: Any, index2: Any) -> Any:
    return _argmin_combine(value1, index1, value2, index2, False)


@library
def _elementwise_max(a: Any, b: Any) -> Any:
    return maximum(a, b)


@library
def _elementwise_min(a: Any, b: Any) -> Any:
    return minimum(a, b)


def _promote_bfloat16_to_float32(t: Any) -> Any:
    t = to_tensor(t)
    return cast(t, ty.float32) if t.type.scalar is ty.bfloat16 else t


def _reduce_with_indices(
    input: Any, axis: Any, combine_fn: Callable[..., Any], keep_dims: Any = False
) -> Any:
    """`m n -> m, m` int32: the values with their index along `axis` reduced together."""
    x = to_tensor(input)
    rank = len(x.type.shape)
    if axis is None:
        raise TypeError("indices of a reduction need an axis; flatten the block for all of it")
    along = axis_index(axis, rank)
    index = creation.arange(0, x.type.shape[along])
    if rank > 1:
        index = expand_dims(index, [d for d in range(rank) if d != along])
        index = broadcast_to(index, x.type.shape)
    return reduce((x, index), along, combine_fn, keep_dims=keep_dims)


def _extremum(
    input: Any, axis: Any, keep_dims: Any, indices: Callable[..., Any] | None, combine: Any
) -> Any:
    """With `indices`, the combine function that carries them; else in at least 32 bits."""
    x = _promote_bfloat16_to_float32(input)
    if indices is not None:
        return _reduce_with_indices(x, axis, indices, keep_dims)
    scalar = x.type.scalar
    if scalar.primitive_bitwidth < 32:
        x = cast(x, ty.float32 if scalar.is_floating() else ty.int32)
    return reduce(x, axis, combine, keep_dims=keep_dims)


@library
def max(
    input: Any,
    axis: Any = None,
    return_indices: Any = False,
    return_indices_tie_break_left: Any = True,
    keep_dims: Any = False,
) -> Any:
    """`m n -> m`: the greatest along `axis` (None: of all); with `return_indices` also where it
    is, the first such place if ties break left. NaN never wins without indices."""
    indices = None
    if return_indices:
        left = return_indices_tie_break_left
        indices = _argmax_combine_tie_break_left if left else _argmax_combine_tie_break_fast
    return _extremum(input, axis, keep_dims, indices, _elementwise_max)


@library
def min(
    input: Any,
    axis: Any = None,
    return_indices: Any = False,
    return_indices_tie_break_left: Any = True,
    keep_dims: Any = False,
) -> Any:
    """`m n -> m`: the least along `axis` (None: of all); with `return_indices` also where it
    is, the first such place if ties break left. NaN never wins without indices."""
    indices = None
    if return_indices:
        left = return_indices_tie_break_left
        indices = _argmin_combine_tie_break_left if left else _argmin_combine_tie_break_fast
    return _extremum(input, axis, keep_dims, indices, _elementwise_min)


@library
def argmax(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> Any:
    """`m n -> m` int32: where the greatest element along `axis` is."""
    return max(input, axis, True, tie_break_left, keep_dims)[1]


@library
def argmin(input: Any, axis: Any, tie_break_left: Any = True, keep_dims: Any = False) -> Any:
    """`m n -> m` int32: where the least element along `axis` is."""
    return min(input, axis, True, tie_break_left, keep_dims)[1]


__all__ = ["argmax", "argmin", "max", "min"]
