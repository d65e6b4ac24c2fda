"""Arithmetic on affine values without writing their elements out.

A rule answers None where it cannot decide exactly; the operation's meaning then runs on arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.interp.grid.lanes import LEAD, SAFE, Lanes, affine, constant, of_array
from blockstep.language import types as ty

Rule = Callable[[tuple[Lanes, ...], dict[str, Any], ty.dtype], "Lanes | None"]


def _uniform(x: Lanes) -> bool:
    """Whether the value has no stride along any block axis."""
    return x.const is not None and not any(x.strides)


def _safe(x: Lanes) -> bool:
    low, high = x.extent()
    return -SAFE < low and high < SAFE


def _sum(sign: int) -> Rule:
    def rule(xs: tuple[Lanes, ...], attributes: dict[str, Any], kind: ty.dtype) -> Lanes | None:
        x, y = xs
        if x.const is None or y.const is None:
            return None
        if kind.scalar.itemsize == 8 and not (_safe(x) and _safe(y)):
            return None
        strides = tuple([a + sign * b for a, b in zip(x.strides, y.strides, strict=True)])
        return affine(x.const + sign * y.const, strides, kind)

    return rule


def _mul(xs: tuple[Lanes, ...], attributes: dict[str, Any], kind: ty.dtype) -> Lanes | None:
    x, y = xs
    if x.const is None or y.const is None:
        return None
    if not _uniform(y):
        x, y = y, x
    if not _uniform(y):
        return None
    factor = y.const
    if any(x.strides) and not isinstance(factor, int):
        if factor.size > 1:
            return None  # strides that differ from program to program
        factor = int(factor.reshape(()))
    low, high = x.extent()
    a, b = y.extent()
    if max(abs(low), abs(high)) * max(abs(a), abs(b)) >= SAFE:
        return None
    strides = tuple([s * factor for s in x.strides]) if any(x.strides) else x.strides
    return affine(x.const * y.const, strides, kind)


def _addptr(xs: tuple[Lanes, ...], attributes: dict[str, Any], kind: ty.dtype) -> Lanes | None:
    pointer, offset = xs
    if pointer.const is None or offset.const is None:
        return None
    size = attributes["itemsize"]
    low, high = offset.extent()
    if max(abs(low), abs(high)) * size >= SAFE:
        return None
    result = Lanes(kind)
    result.const = pointer.const + offset.const * size
    result.strides = tuple(
        [a + b * size for a, b in zip(pointer.strides, offset.strides, strict=True)]
    )
    result.origin = pointer.origin
    return result


def _compare(decide: Callable[[int, int, int, int], bool | None]) -> Rule:
    def rule(xs: tuple[Lanes, ...], attributes: dict[str, Any], kind: ty.dtype) -> Lanes | None:
        x, y = xs
        if not (x.type.scalar._integer and x.type.scalar.primitive_bitwidth > 1):
            return None
        answer = decide(*x.extent(), *y.extent())
        if answer is None:
            return _rectangle(x, y, decide, kind)
        return of_array(np.full((1,) * (LEAD + len(kind.shape)), answer), kind)

    return rule


def _rectangle(
    x: Lanes, y: Lanes, decide: Callable[[int, int, int, int], bool | None], kind: ty.dtype
) -> Lanes | None:
    """A comparison that turns once along one axis, at the same place in every program."""
    if x.const is None or y.const is None or decide in (_eq, _ne):
        return None
    gap, strides = x.const - y.const, [a - b for a, b in zip(x.strides, y.strides, strict=True)]
    axes = [k for k, stride in enumerate(strides) if stride]
    if len(axes) != 1:
        return None
    if not isinstance(gap, int):
        if gap.size > 1 and not (gap == gap.flat[0]).all():
            return None
        gap = int(gap.flat[0])
    (axis,) = axes
    n = kind.shape[axis]
    on = [bool(decide(v, v, 0, 0)) for v in (gap, gap + strides[axis] * (n - 1))]
    first = 0 if on[0] else _turn(gap, strides[axis], n, decide, True)
    last = n if on[1] else max(first, _turn(gap, strides[axis], n, decide, False))
    result = Lanes(kind)
    result.box = tuple([(first, last) if k == axis else (0, m) for k, m in enumerate(kind.shape)])
    return result


def _turn(gap: int, stride: int, n: int, decide: Any, wanted: bool) -> int:
    """The first position whose answer is `wanted`, by halving: the answer turns once."""
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        value = gap + stride * middle
        if bool(decide(value, value, 0, 0)) is wanted:
            high = middle
        else:
            low = middle + 1
    return low


def _and(xs: tuple[Lanes, ...], attributes: dict[str, Any], kind: ty.dtype) -> Lanes | None:
    x, y = xs
    if not kind.scalar.is_int1():
        return None
    for one, other in ((x, y), (y, x)):
        if one.box is None and one.array is not None and one.array.size == 1:
            if one.array.flat[0]:
                return other if not (one.undefined or one.marks) else None
    if x.box is None or y.box is None:
        return None
    result = Lanes(kind)
    result.box = tuple(
        [
            (max(a, c), max(min(b, d), max(a, c)))
            for (a, b), (c, d) in zip(x.box, y.box, strict=True)
        ]
    )
    result.implies = x.implies | y.implies | {x, y}
    return result


def _lt(a: int, b: int, c: int, d: int) -> bool | None:
    return True if b < c else False if a >= d else None


def _le(a: int, b: int, c: int, d: int) -> bool | None:
    return True if b <= c else False if a > d else None


def _eq(a: int, b: int, c: int, d: int) -> bool | None:
    return True if a == b == c == d else False if b < c or d < a else None


def _ne(a: int, b: int, c: int, d: int) -> bool | None:
    answer = _eq(a, b, c, d)
    return None if answer is None else not answer


def _divisor(y: Lanes) -> int | None:
    low, high = y.extent()
    return low if low == high != 0 else None


def _quotient(xs: tuple[Lanes, ...], attributes: dict[str, Any], kind: ty.dtype) -> Lanes | None:
    x, y = xs
    if x.const is None or y.const is None:
        return None
    low, high = x.extent()
    by = _divisor(y)
    if by is not None and by > 0 and low >= 0:
        if high < by:
            return constant(0, kind)
        if _uniform(x):  # one number a program
            return affine(x.const // by, x.strides, kind)
        if low // by == high // by:
            return constant(low // by, kind)
    if _uniform(x) and _uniform(y) and low >= 0 and y.extent()[0] > 0:
        return affine(x.const // y.const, x.strides, kind)
    return None


def _remainder(xs: tuple[Lanes, ...], attributes: dict[str, Any], kind: ty.dtype) -> Lanes | None:
    x, y = xs
    if x.const is None or y.const is None:
        return None
    low, high = x.extent()
    if low < 0 or y.extent()[0] <= 0:
        return None
    if high < y.extent()[0]:
        return x
    if _uniform(x) and _uniform(y):
        return affine(x.const % y.const, x.strides, kind)
    return None


def _extreme(greatest: bool) -> Rule:
    def rule(xs: tuple[Lanes, ...], attributes: dict[str, Any], kind: ty.dtype) -> Lanes | None:
        x, y = xs
        if x.const is None or y.const is None:
            return None
        (a, b), (c, d) = x.extent(), y.extent()
        if a >= d or b <= c:
            return (x if greatest else y) if a >= d else (y if greatest else x)
        if _uniform(x) and _uniform(y):
            pick = np.maximum if greatest else np.minimum
            return affine(pick(x.const, y.const), x.strides, kind)
        return None

    return rule


def _splat(x: Lanes, attributes: dict[str, Any], kind: ty.dtype) -> Lanes:
    rank = len(attributes["shape"])
    result = Lanes(kind)
    if x.const is not None:
        result.const, result.strides = x.const, (0,) * rank
    else:
        result.array = x.array.reshape(x.array.shape + (1,) * rank)
    return result


def _moving(rule: Callable[[Lanes, dict[str, Any], ty.dtype], Lanes]) -> Rule:
    """A rule that only moves elements: marks, and what a mask implies, move too.

    A mask is moved once in each way, so that it is the same object whoever asks for it."""

    def moved(mask: Lanes, attributes: dict[str, Any], shape: tuple[int, ...]) -> Lanes:
        how = (rule, shape, attributes.get("axis"), tuple(attributes.get("dims", ())))
        found = mask.moved.get(how)
        if found is None:
            found = rule(mask, attributes, ty.blocked(ty.int1, shape))
            mask.moved[how] = found = marked(found, mask, attributes, shape)
        return found

    def marked(
        result: Lanes, x: Lanes, attributes: dict[str, Any], shape: tuple[int, ...]
    ) -> Lanes:
        result.limits, result.origin = x.limits, x.origin
        result.marks = {
            name: rule(of_array(lanes, blocked(x)), attributes, ty.blocked(ty.int1, shape)).array
            for name, lanes in x.marks.items()
        }
        result.undefined = frozenset([moved(m, attributes, shape) for m in x.undefined])
        result.implies = frozenset([moved(m, attributes, shape) for m in x.implies])
        return result

    def blocked(x: Lanes) -> ty.dtype:
        return ty.blocked(ty.int1, x.shape)

    def moving(xs: tuple[Lanes, ...], attributes: dict[str, Any], kind: ty.dtype) -> Lanes:
        (x,) = xs
        if kind.scalar.is_int1():
            return moved(x, attributes, kind.shape)
        return marked(rule(x, attributes, kind), x, attributes, kind.shape)

    return moving


def _broadcast(x: Lanes, attributes: dict[str, Any], kind: ty.dtype) -> Lanes:
    result = Lanes(kind)
    if x.box is not None:
        result.box = tuple(
            [
                (a, b) if m == n else (0, n if b > a else 0)
                for (a, b), m, n in zip(x.box, x.shape, kind.shape, strict=True)
            ]
        )
    elif x.const is not None:
        old = x.shape
        result.const = x.const
        result.strides = tuple([s if n > 1 else 0 for s, n in zip(x.strides, old, strict=True)])
    else:
        result.array = x.array
    return result


def _expand_dims(x: Lanes, attributes: dict[str, Any], kind: ty.dtype) -> Lanes:
    axis = attributes["axis"]
    result = Lanes(kind)
    if x.box is not None:
        result.box = (*x.box[:axis], (0, 1), *x.box[axis:])
    elif x.const is not None:
        result.const = x.const
        result.strides = x.strides[:axis] + (0,) + x.strides[axis:]
    else:
        result.array = np.expand_dims(x.array, LEAD + axis)
    return result


def _permute(x: Lanes, attributes: dict[str, Any], kind: ty.dtype) -> Lanes:
    dims = attributes["dims"]
    result = Lanes(kind)
    if x.box is not None:
        result.box = tuple([x.box[d] for d in dims])
    elif x.const is not None:
        result.const, result.strides = x.const, tuple([x.strides[d] for d in dims])
    else:
        result.array = x.array.transpose((0, 1, 2, *[LEAD + d for d in dims]))
    return result


def _cast(xs: tuple[Lanes, ...], attributes: dict[str, Any], kind: ty.dtype) -> Lanes | None:
    (x,) = xs
    target = kind.scalar
    if x.const is None or not target._integer or target.primitive_bitwidth == 1:
        return None
    if not x.type.scalar._integer:
        return None
    return affine(x.const, x.strides, kind)


RULES: dict[str, Rule] = {
    "add": _sum(1),
    "sub": _sum(-1),
    "mul": _mul,
    "addptr": _addptr,
    "idiv": _quotient,
    "irem": _remainder,
    "minimum": _extreme(False),
    "maximum": _extreme(True),
    "lt": _compare(_lt),
    "le": _compare(_le),
    "gt": _compare(lambda a, b, c, d: _lt(c, d, a, b)),
    "ge": _compare(lambda a, b, c, d: _le(c, d, a, b)),
    "eq": _compare(_eq),
    "ne": _compare(_ne),
    "splat": _moving(_splat),
    "broadcast": _moving(_broadcast),
    "expand_dims": _moving(_expand_dims),
    "permute": _moving(_permute),
    "cast": _cast,
    "and": _and,
}
