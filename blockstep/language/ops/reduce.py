"""Reduction along an axis with any combine function.

The meaning is one fixed tree for every operation and type: the first half of the axis is combined
with the second half, elementwise, until one element is left. A combine function must be
associative and commutative, as on the GPU, whose order is another one. Where the order cannot
matter (integer arithmetic, bits, minimum and maximum), one NumPy reduction gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from blockstep.language import types as ty
from blockstep.language.op import Family, define
from blockstep.language.region import Region, spread


def _without_axis(*xs: ty.dtype, axis: int, region: Region) -> Any:
    found = tuple([_shortened(x, axis) for x in xs])
    return found if len(found) > 1 else found[0]


@lru_cache(maxsize=1024)
def _shortened(x: ty.dtype, axis: int) -> ty.dtype:
    shape = list(x.shape)
    del shape[axis]
    return ty.blocked(x.scalar, tuple(shape))


def axis_first(x: Any, axis: int) -> Any:
    """`x` with the axis, counted from the right, before all others."""
    if x.ndim == 1:
        return x
    position = x.ndim + axis
    order = (position, *range(position), *range(position + 1, x.ndim))
    return x.transpose(order)


def _tree(xs: list[Any], region: Region) -> list[Any]:
    single = region.single
    n = len(xs[0])
    if single is not None and single.op.name in _UFUNCS and xs[0].dtype.kind == "f":
        return [_halved(xs[0], _UFUNCS[single.op.name])]
    while n > 1:
        n //= 2
        if single is not None:
            xs = [single.op.meaning(xs[0][:n], xs[0][n:], **single.attributes)]  # type: ignore[misc]
        else:
            low, high = [x[:n] for x in xs], [x[n:] for x in xs]
            found = region.apply(*low, *high)
            xs = [spread(new, old) for new, old in zip(found, low, strict=True)]
    return [x[0] for x in xs]


def _halved(x: Any, ufunc: np.ufunc) -> Any:
    n = len(x)
    while n > 1:
        n //= 2
        x = ufunc(x[:n], x[n:])
    return x[0]


_UFUNCS = {"add": np.add, "mul": np.multiply}


def _in_type(ufunc: np.ufunc) -> Callable[[Any], Any]:
    return lambda x: ufunc.reduce(x, axis=0, dtype=x.dtype)


def _numbers(x: Any, found: Any, ufunc: np.ufunc, identity: float) -> Any:
    """`found`, but where it is NaN the extremum of the numbers. (A signalling NaN makes NumPy's
    fmin and fmax forget what stood before it.)"""
    if not np.isnan(found).any():
        return found
    nan = np.isnan(x)
    numbers = ufunc.reduce(np.where(nan, x.dtype.type(identity), x), axis=0)
    return np.where(nan.all(axis=0), x.dtype.type(np.nan), numbers)[()]


def _float_maximum(x: Any) -> Any:
    found = _numbers(x, np.maximum.reduce(x, axis=0), np.maximum, -np.inf)
    return _zero_sign(x, found, lambda zeros, negative: zeros & ~negative, +0.0, -0.0)


def _float_minimum(x: Any) -> Any:
    found = _numbers(x, np.minimum.reduce(x, axis=0), np.minimum, np.inf)
    return _zero_sign(x, found, lambda zeros, negative: zeros & negative, -0.0, +0.0)


def _zero_sign(x: Any, found: Any, wins: Any, winner: float, loser: float) -> Any:
    """A zero result has the sign of the winning zero if one is among the elements."""
    zero = found == 0
    if not zero.any():
        return found
    won = np.any(wins(x == 0, np.signbit(x)), axis=0)
    signed = np.where(won, x.dtype.type(winner), x.dtype.type(loser))
    return np.where(zero, signed, found)[()]


_Whole = Callable[[Any], Any]
_INTEGER: dict[str, _Whole] = {
    "add": _in_type(np.add),
    "mul": _in_type(np.multiply),
    "and": _in_type(np.bitwise_and),
    "or": _in_type(np.bitwise_or),
    "xor": _in_type(np.bitwise_xor),
    "minimum": np.minimum.reduce,
    "maximum": np.maximum.reduce,
}
_BOOLEAN: dict[str, _Whole] = {
    "add": np.logical_xor.reduce,
    "and": np.logical_and.reduce,
    "or": np.logical_or.reduce,
    "xor": np.logical_xor.reduce,
}
_FLOAT: dict[str, _Whole] = {"minimum": _float_minimum, "maximum": _float_maximum}
_ANY_ORDER: dict[str, dict[str, _Whole]] = {
    "i": _INTEGER,
    "u": _INTEGER,
    "b": _BOOLEAN,
    "f": _FLOAT,
}


@lru_cache(maxsize=1024)
def _any_order(kind: str, region: Region) -> Callable[[Any], Any] | None:
    """One NumPy call that gives the bits of every tree, if there is one."""
    single = region.single
    if single is None or any(single.attributes.values()):
        return None
    return _ANY_ORDER.get(kind, {}).get(single.op.name)


def _reduce(*operands: Any, axis: int, region: Region) -> Any:
    xs = [axis_first(x, axis) for x in operands]
    at_once = _any_order(xs[0].dtype.kind, region)
    if at_once is not None:
        return at_once(xs[0])
    found = _tree(xs, region)
    return found[0] if len(found) == 1 else tuple(found)


REDUCE = define(
    "reduce",
    Family.REDUCE,
    _without_axis,
    _reduce,
    "`m n, … -> m, …`: the elements along an axis combined by a region, in a halving tree.",
)
