"""Reduce, scan and map with any function of scalars: a jit function or a plain Python one.

The function is recorded once as a region (`blockstep.language.region`) and applied to whole blocks;
one that cannot be recorded runs element by element (`blockstep.language.sequence`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blockstep.language.constant import unwrap
from blockstep.language.op import emit
from blockstep.language.ops.map import MAP, MAP_PACKED
from blockstep.language.ops.reduce import REDUCE
from blockstep.language.ops.scan import SCAN
from blockstep.language.promotion import broadcast, to_tensor
from blockstep.language.region import region_of
from blockstep.language.sequence import check_pack, map_each, reduce_each, scan_each
from blockstep.language.shape import axis_index, expand_dims, ravel, reshape
from blockstep.language.value import tensor


def _blocks(input: Any, what: str) -> tuple[tensor, ...]:
    """The inputs as blocks of one shape. Raises ValueError otherwise."""
    inputs = (input,) if isinstance(input, tensor) else tuple([to_tensor(x) for x in input])
    shape = inputs[0].type.shape
    if any(x.type.shape != shape for x in inputs):
        raise ValueError(f"all {what} inputs must have the same shape")
    return inputs


def reduce(input: Any, axis: Any, combine_fn: Callable[..., Any], keep_dims: Any = False) -> Any:
    """`m n -> m`: the elements along `axis` (None: all of them) combined to one by `combine_fn`,
    a function of scalars that takes and returns as many values as there are inputs, twice.

    `combine_fn` must be associative and commutative; the order is not specified. A tuple of
    blocks gives a tuple. `keep_dims` leaves axes of length 1. Raises ValueError for an axis that
    is not there, TypeError if `combine_fn` returns other types than it is given."""
    inputs = _blocks(input, "reduction")
    axis, rank = unwrap(axis), len(inputs[0].type.shape)
    if not rank:
        raise ValueError("a scalar has no axis to reduce")
    along = 0 if axis is None else axis_index(axis, rank)
    if axis is None and rank > 1:
        inputs = tuple([ravel(x) for x in inputs])
    found = _reduced(inputs, along, combine_fn)
    if unwrap(keep_dims):
        kept = along if axis is not None else tuple(range(rank))
        found = tuple([expand_dims(x, kept) for x in found])
    return found[0] if isinstance(input, tensor) else found


def _reduced(inputs: tuple[tensor, ...], axis: int, combine_fn: Any) -> tuple[Any, ...]:
    types = tuple([x.type.scalar for x in inputs])
    region = region_of(combine_fn, types + types, types)
    if region is None:
        return reduce_each(inputs, axis, combine_fn)
    found = emit(REDUCE, *inputs, axis=axis - len(inputs[0].type.shape), region=region)
    return found if isinstance(found, tuple) else (found,)


def associative_scan(
    input: Any, axis: Any, combine_fn: Callable[..., Any], reverse: Any = False
) -> Any:
    """`m n -> m n`: each element combined with all before it along `axis` (after it, if
    `reverse`) by the associative `combine_fn(left, right)`, a function of scalars as in `reduce`.

    Raises ValueError for an axis that is not there."""
    inputs = _blocks(input, "scan")
    rank = len(inputs[0].type.shape)
    along, backward = axis_index(axis, rank), bool(unwrap(reverse))
    types = tuple([x.type.scalar for x in inputs])
    region = region_of(combine_fn, types + types, types)
    if region is None:
        found = scan_each(inputs, along, combine_fn, backward)
    else:
        found = emit(SCAN, *inputs, axis=along - rank, region=region, reverse=backward)
    if isinstance(input, tensor):
        return found[0] if isinstance(found, tuple) else found
    return found if isinstance(found, tuple) else (found,)


def map_elementwise(scalar_fn: Callable[..., Any], *args: Any, pack: Any = 1) -> Any:
    """`n, n -> n, …`: a function of scalars at every element, so that it may branch on values.

    The blocks are broadcast to one shape. With `pack` > 1 the function takes `pack` neighbouring
    elements of the first block, then of the second, and returns `pack` values for each result."""
    pack = unwrap(pack)
    if not args:
        raise ValueError("map_elementwise must have at least 1 input tensor")
    inputs = _stretched([to_tensor(x) for x in args])
    shape = inputs[0].type.shape
    if pack < 1 or inputs[0].numel % pack:
        raise ValueError(f"map_elementwise: pack={pack} does not divide {inputs[0].numel} elements")
    if pack == 1:
        found, bundled = _mapped(inputs, scalar_fn, 1)
    else:
        found, bundled = _mapped(tuple([ravel(x) for x in inputs]), scalar_fn, pack)
        found = tuple([reshape(x, shape) for x in found])
    return found if bundled else found[0]


def _mapped(inputs: tuple[tensor, ...], function: Any, pack: int) -> tuple[tuple[Any, ...], bool]:
    """The results, and whether the function returned them as a tuple."""
    types = tuple([x.type.scalar for x in inputs for _ in range(pack)])
    region = region_of(function, types, None)
    if region is None:
        return map_each(inputs, function, pack)
    check_pack(len(region.outputs), pack)
    if pack == 1:
        found = emit(MAP, *inputs, region=region)
    else:
        found = emit(MAP_PACKED, *inputs, region=region, pack=pack)
    return (found if isinstance(found, tuple) else (found,)), region.bundled


def _stretched(inputs: list[Any]) -> tuple[tensor, ...]:
    """All inputs in the shape that they have in common."""
    for i in range(1, len(inputs)):
        inputs[0], inputs[i] = broadcast(inputs[0], inputs[i])
    return tuple([broadcast(x, inputs[0])[0] for x in inputs])


__all__ = ["associative_scan", "map_elementwise", "reduce"]
