"""The library written in the language: sums, extrema, scans, softmax and other small functions.

Result types are Triton 3.6's: sums widen integers below 32 bits, extrema widen everything below 32
bits unless indices are asked for, and bfloat16 is compared and scanned in float32.
"""

from __future__ import annotations

from typing import Any

from blockstep.language import creation, shape
from blockstep.language import types as ty
from blockstep.language.casting import cast
from blockstep.language.elementwise import (
    add,
    fdiv,
    floordiv,
    minimum,
    minus,
    mul,
    or_,
    sub,
    truediv,
    xor,
)
from blockstep.language.extrema import (
    _argmax_combine,
    _argmax_combine_tie_break_fast,
    _argmax_combine_tie_break_left,
    _argmin_combine,
    _argmin_combine_tie_break_fast,
    _argmin_combine_tie_break_left,
    _elementwise_max,
    _elementwise_min,
    _promote_bfloat16_to_float32,
    _reduce_with_indices,
    argmax,
    argmin,
    max,
    min,
)
from blockstep.language.library import library
from blockstep.language.math import exp
from blockstep.language.order import _log2, bitonic_merge, sort, sort_impl, topk
from blockstep.language.promotion import to_tensor
from blockstep.language.reduction import associative_scan, reduce
from blockstep.language.types import dtype as dtype_type
from blockstep.language.types import get_int_dtype as _get_int_dtype
from blockstep.language.value import tensor


def _is_power_of_two(i: Any) -> bool:
    return int(i) > 0 and int(i) & (int(i) - 1) == 0


@library
def cdiv(x: Any, div: Any) -> Any:
    """`n, n -> n`: x / div rounded up, for x >= 0 and div > 0. Constants give a run-time scalar
    too (Triton 3.6); `triton.cdiv` gives a constant."""
    if not isinstance(x, tensor) and not isinstance(div, tensor):
        return to_tensor((x + (div - 1)) // div)
    return floordiv(add(x, sub(div, 1) if isinstance(div, tensor) else div - 1), div)


@library
def sigmoid(x: Any) -> Any:
    """`n -> n`: 1 / (1 + exp(-x)), for float32 and float64."""
    return truediv(1, add(1, exp(minus(x))))


@library
def softmax(x: Any, dim: Any = None, keep_dims: Any = False, ieee_rounding: Any = False) -> Any:
    """`m n -> m n`: exp(x - max) / sum(exp(x - max)) along `dim` (default: axis 0)."""
    axis = 0 if dim is None else dim
    powers = exp(sub(x, max(x, axis, keep_dims=keep_dims)))
    return fdiv(powers, sum(powers, axis, keep_dims=keep_dims), ieee_rounding)


@library
def zeros(shape: Any, dtype: Any) -> Any:
    """`-> shape`: a block of zeros."""
    return creation.full(shape, 0, dtype)


@library
def zeros_like(input: Any) -> Any:
    """`n -> n`: zeros in the shape and type of `input`."""
    return creation.full(input.shape, 0, input.dtype)


@library
def ravel(x: Any, can_reorder: Any = False) -> Any:
    """`m n -> mn`: all elements on one axis."""
    return shape.ravel(x)


@library
def flip(x: Any, dim: Any = None) -> Any:
    """`m n -> m n`: reversed along `dim`. Raises TypeError without it, as Triton 3.6 does in spite
    of its default."""
    if dim is None:
        raise TypeError("flip needs `dim`, the axis to reverse: Triton 3.6 rejects its own default")
    return shape.flip(x, dim)


@library
def interleave(a: Any, b: Any) -> Any:
    """`m n, m n -> m 2n`: a[0], b[0], a[1], b[1], … along the last axis."""
    return shape.interleave(a, b)


@library
def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> Any:
    """`, , , , -> ,`: where element (i, j) of a row-major grid goes if every band of `size_g` rows
    is walked column by column (the last band may have fewer rows)."""
    i, j, size_i, size_j, size_g = map(to_tensor, (i, j, size_i, size_j, size_g))
    place = i * size_j + j
    in_band = size_g * size_j
    first_row = place // in_band * size_g
    rows = minimum(size_i - first_row, size_g)
    place = place % in_band
    return first_row + place % rows, place // rows


@library
def _sum_combine(a: Any, b: Any) -> Any:
    return add(a, b)


@library
def _prod_combine(a: Any, b: Any) -> Any:
    return mul(a, b)


@library
def _xor_combine(a: Any, b: Any) -> Any:
    return xor(a, b)


@library
def _or_combine(x: Any, y: Any) -> Any:
    return or_(x, y)


def _pick_sum_dtype(in_dtype: dtype_type, dtype: dtype_type | None) -> dtype_type | None:
    """The type to sum in: the one asked for, or 32 bits for narrower integers; None: as it is."""
    if dtype is not None or not in_dtype.is_int() or in_dtype.int_bitwidth >= 32:
        return dtype
    return ty.int32 if in_dtype.is_int_signed() else ty.uint32


def _summand(input: Any, dtype: Any) -> Any:
    x = to_tensor(input)
    wanted = _pick_sum_dtype(x.type.scalar, dtype)
    return x if wanted is None else cast(x, wanted)


@library
def sum(input: Any, axis: Any = None, keep_dims: Any = False, dtype: Any = None) -> Any:
    """`m n -> m`: the sum along `axis` (None: of all), in `dtype` or the input's type; integers
    below 32 bits are summed in 32. float16 and bfloat16 round at every step."""
    return reduce(_summand(input, dtype), axis, _sum_combine, keep_dims=keep_dims)


def _integers(input: Any, what: str) -> Any:
    x = to_tensor(input)
    if not x.type.scalar.is_int():
        raise TypeError(f"{what} only supported for integers")
    return x


@library
def xor_sum(input: Any, axis: Any = None, keep_dims: Any = False) -> Any:
    """`m n -> m`: the exclusive or of integers along `axis` (None: of all)."""
    return reduce(_integers(input, "xor_sum"), axis, _xor_combine, keep_dims=keep_dims)


@library
def reduce_or(input: Any, axis: Any, keep_dims: Any = False) -> Any:
    """`m n -> m`: the bitwise or of integers along `axis` (None: of all)."""
    return reduce(_integers(input, "reduce_or"), axis, _or_combine, keep_dims=keep_dims)


@library
def cumsum(input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> Any:
    """`m n -> m n`: running sums along `axis`, typed as `sum`; bfloat16 is summed in float32."""
    x = _summand(_promote_bfloat16_to_float32(input), dtype)
    return associative_scan(x, axis, _sum_combine, reverse)


@library
def cumprod(input: Any, axis: Any = 0, reverse: Any = False) -> Any:
    """`m n -> m n`: running products along `axis`; bfloat16 is multiplied in float32."""
    return associative_scan(_promote_bfloat16_to_float32(input), axis, _prod_combine, reverse)


__all__ = [
    "_argmax_combine",
    "_argmax_combine_tie_break_fast",
    "_argmax_combine_tie_break_left",
    "_argmin_combine",
    "_argmin_combine_tie_break_fast",
    "_argmin_combine_tie_break_left",
    "_elementwise_max",
    "_elementwise_min",
    "_get_int_dtype",
    "_log2",
    "_promote_bfloat16_to_float32",
    "_reduce_with_indices",
    "argmax",
    "argmin",
    "bitonic_merge",
    "cdiv",
    "cumprod",
    "cumsum",
    "flip",
    "interleave",
    "max",
    "min",
    "ravel",
    "reduce_or",
    "sigmoid",
    "softmax",
    "sort",
    "sort_impl",
    "sum",
    "swizzle2d",
    "topk",
    "xor_sum",
    "zeros",
    "zeros_like",
]
