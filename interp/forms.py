"""Compact forms of blocks: values whose elements nobody has had to write down yet.

Most integer blocks of a kernel are `start + stride . position`, and most scalars that meet a block
are the same in every element. Such a block is carried as an `Affine` or a `Uniform`; its array is
made when somebody asks for `tensor.handle`. `RULES` computes with forms directly; a rule answers None
where it cannot decide exactly, and the operation's meaning runs on arrays instead.

Invariant: `form.dense(type)` is, bit for bit, what the meanings would have computed. Rules never
apply to marked values and never leave the type's range: what wraps goes to the meaning, so that
the overflow checker sees it. (`tests/interp/test_forms.py` holds rules against meanings.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.language.types import block_type, dtype, int1
from blockstep.language.value import tensor

Strides = tuple[int, ...]


class Affine:
    """Integers or addresses `const + sum(strides[k] * position[k])`; length-1 axes have stride 0."""

    __slots__ = ("const", "strides")

    def __init__(self, const: int, strides: Strides) -> None:
        self.const, self.strides = const, strides

    def dense(self, type: dtype) -> Any:
        """The elements as an array."""
        shape = type.shape
        out: Any = np.int64(self.const)
        for axis, (n, stride) in enumerate(zip(shape, self.strides, strict=True)):
            if stride:
                steps = np.arange(0, n * stride, stride, dtype=np.int64)
                out = out + steps.reshape([n if k == axis else 1 for k in range(len(shape))])
        out = out.astype(type.scalar.numpy, copy=False)
        return out if out.shape == shape else np.broadcast_to(out, shape)

    def extent(self, shape: Strides) -> tuple[int, int]:
        """The least and the greatest element."""
        low = high = self.const
        for n, stride in zip(shape, self.strides, strict=True):
            if stride > 0:
                high += stride * (n - 1)
            elif stride < 0:
                low += stride * (n - 1)
        return low, high


class Uniform:
    """One value in every element of a block."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def dense(self, type: dtype) -> Any:
        """The elements as a (read-only) array."""
        return np.broadcast_to(self.value, type.shape)


def compact(x: tensor) -> Any:
    """The array to compute with elementwise: a scalar for a uniform block."""
    form = x.form
    return form.value if type(form) is Uniform else x.handle


def uniform(value: Any, type: dtype) -> tensor:
    """A block (or a scalar) of one value."""
    if not type.shape:
        return tensor(value, type)
    result = tensor(None, type)
    result.form = Uniform(value)
    return result


def _integer(value: int, kind: dtype) -> tensor:
    """An integer scalar or uniform block that is known to fit."""
    result = uniform(kind.scalar.numpy.type(value), kind)
    result.bounds = (value, value)
    return result


def _affine(const: int, strides: Strides, kind: dtype) -> tensor | None:
    form = Affine(const, strides)
    bounds = form.extent(kind.shape)
    scalar = kind.scalar
    if scalar._integer and not (scalar.lowest <= bounds[0] and bounds[1] <= scalar.highest):
        return None
    result = tensor(None, kind)
    result.form, result.bounds = form, bounds
    return result


def parts(x: tensor) -> tuple[int, Strides | None] | None:
    """An integer or pointer value as constant and strides (None: the same everywhere)."""
    form = x.form
    if form is None:
        return (int(x.handle), None) if not x.type.shape else None
    if type(form) is Affine:
        return form.const, form.strides
    return int(form.value), None


Rule = Callable[[tuple[tensor, ...], dict[str, Any]], "tensor | None"]


def _sum(sign: int) -> Rule:
    def rule(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
        x, y = operands
        kind = x.type
        if not kind.scalar._integer or kind.scalar is int1:
            return None
        a = parts(x)
        b = parts(y) if a is not None else None
        if a is None or b is None:
            return None
        const = a[0] + sign * b[0]
        if a[1] is None and b[1] is None:
            fits = kind.scalar.lowest <= const <= kind.scalar.highest
            return _integer(const, kind) if fits else None
        return _affine(const, _added(a[1], b[1], sign), kind)

    return rule


def _added(a: Strides | None, b: Strides | None, factor: int) -> Strides:
    if b is None:
        assert a is not None
        return a
    if a is None:
        return b if factor == 1 else tuple([factor * s for s in b])
    return tuple([s + factor * t for s, t in zip(a, b, strict=True)])


def _mul(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
    x, y = operands
    kind = x.type
    if not kind.scalar._integer or kind.scalar is int1:
        return None
    a = parts(x)
    b = parts(y) if a is not None else None
    if a is None or b is None:
        return None
    if a[1] is not None and b[1] is not None:
        return None
    const = a[0] * b[0]
    strides, factor = (a[1], b[0]) if b[1] is None else (b[1], a[0])
    if strides is None:
        fits = kind.scalar.lowest <= const <= kind.scalar.highest
        return _integer(const, kind) if fits else None
    return _affine(const, tuple([s * factor for s in strides]), kind)


def _addptr(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
    pointer, offset = operands
    a = parts(pointer)
    b = parts(offset) if a is not None else None
    if a is None or b is None:
        return None
    size = attributes["itemsize"]
    const = a[0] + b[0] * size
    if not 0 <= const < 1 << 62:
        return None
    if a[1] is None and b[1] is None:
        result = uniform(np.int64(const), pointer.type)
    else:
        result = tensor(None, pointer.type)
        result.form = Affine(const, _added(a[1], b[1], size))
    result.origin = pointer.origin
    return result


def _compare(decide: Callable[[int, int, int, int], bool | None]) -> Rule:
    def rule(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
        x, y = operands
        if x.bounds is None or y.bounds is None or not x.type.scalar._integer:
            return None
        answer = decide(*x.bounds, *y.bounds)
        if answer is None:
            return None
        shape = x.type.shape
        return uniform(np.bool_(answer), block_type(int1, shape) if shape else int1)

    return rule


def _lt(a: int, b: int, c: int, d: int) -> bool | None:
    return True if b < c else False if a >= d else None


def _le(a: int, b: int, c: int, d: int) -> bool | None:
    return True if b <= c else False if a > d else None


def _eq(a: int, b: int, c: int, d: int) -> bool | None:
    return True if a == b == c == d else False if b < c or d < a else None


def _ne(a: int, b: int, c: int, d: int) -> bool | None:
    answer = _eq(a, b, c, d)
    return None if answer is None else not answer


def _quotient(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
    x, y = operands
    if x.bounds is None or y.bounds is None:
        return None
    (a, b), (c, d) = x.bounds, y.bounds
    if c != d or c == 0:
        return None
    low, high = _truncated(a, c), _truncated(b, c)
    if low != high or not x.type.scalar.lowest <= low <= x.type.scalar.highest:
        return None
    return _integer(low, x.type) if a == b or (a >= 0) == (b >= 0) or low == 0 else None


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


def _remainder(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
    x, y = operands
    if x.bounds is None or y.bounds is None:
        return None
    (a, b), (c, d) = x.bounds, y.bounds
    if c != d or c == 0:
        return None
    if abs(a) < abs(c) and abs(b) < abs(c):
        return x
    return _integer(a - _truncated(a, c) * c, x.type) if a == b else None


def _extreme(greatest: bool) -> Rule:
    def rule(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
        x, y = operands
        if x.bounds is None or y.bounds is None or not x.type.scalar._integer:
            return None
        if x.bounds[0] >= y.bounds[1]:
            return x if greatest else y
        if x.bounds[1] <= y.bounds[0]:
            return y if greatest else x
        return None

    return rule


def _logic(neutral: bool) -> Rule:
    """`and` (neutral True) and `or` (neutral False) of int1 with a uniform operand."""

    def rule(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
        if operands[0].type.scalar is not int1:
            return None
        for x, other in (operands, operands[::-1]):
            if type(x.form) is Uniform or not x.type.shape:
                known = bool(x.form.value if x.form is not None else x.handle)
                return other if known is neutral else x
        return None

    return rule


def _select(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
    condition, x, y = operands
    if type(condition.form) is Uniform:
        return x if condition.form.value else y
    return None


def _splat(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
    (x,) = operands
    result = tensor(None, block_type(x.type, attributes["shape"]))
    result.form, result.bounds, result.origin = Uniform(x.handle), x.bounds, x.origin
    return result


def _moved(x: tensor, kind: dtype, strides: Callable[[Strides], Strides]) -> tensor | None:
    """The same elements in another arrangement."""
    form = x.form
    if form is None:
        return None
    result = tensor(None, kind)
    result.form = Affine(form.const, strides(form.strides)) if type(form) is Affine else form
    result.bounds, result.origin = x.bounds, x.origin
    return result


def _broadcast(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
    (x,) = operands
    return _moved(x, block_type(x.type.scalar, attributes["shape"]), lambda strides: strides)


def _expand_dims(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
    (x,) = operands
    axis, shape = attributes["axis"], x.type.shape
    kind = block_type(x.type.scalar, shape[:axis] + (1,) + shape[axis:])
    return _moved(x, kind, lambda strides: strides[:axis] + (0,) + strides[axis:])


def _permute(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
    (x,) = operands
    dims, shape = attributes["dims"], x.type.shape
    kind = block_type(x.type.scalar, tuple([shape[d] for d in dims]))
    return _moved(x, kind, lambda strides: tuple([strides[d] for d in dims]))


def _arange(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
    from blockstep.language.types import int32

    start, end = attributes["start"], attributes["end"]
    result = tensor(None, block_type(int32, (end - start,)))
    result.form = Affine(start, (1 if end - start > 1 else 0,))
    result.bounds = (start, end - 1)
    return result


def _cast(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor | None:
    (x,) = operands
    target, source = attributes["target"], x.type.scalar
    if not (target._integer and source._integer) or x.bounds is None or target is int1:
        return None
    if not (target.lowest <= x.bounds[0] and x.bounds[1] <= target.highest):
        return None
    kind = block_type(target, x.type.shape) if x.type.shape else target
    if type(x.form) is Affine:
        return _moved(x, kind, lambda strides: strides)
    return _integer(x.bounds[0], kind) if x.bounds[0] == x.bounds[1] else None


_constants: dict[tuple[Any, ...], tensor] = {}
_MOST_CONSTANTS = 4096


def _constant(operands: tuple[tensor, ...], attributes: dict[str, Any]) -> tensor:
    """Constants are made once: values never change. (0.0 and -0.0 are one key: not kept.)"""
    kind, value = attributes["type"], attributes["value"]
    found = _constants.get((kind, value))
    if found is not None:
        return found
    if kind.scalar._integer:
        found = _integer(int(value), kind)
    else:
        found = uniform(kind.numpy.type(value), kind)
    if len(_constants) < _MOST_CONSTANTS and value != 0:
        _constants[kind, value] = found
    return found


RULES: dict[str, Rule] = {
    "constant": _constant,
    "arange": _arange,
    "splat": _splat,
    "broadcast": _broadcast,
    "expand_dims": _expand_dims,
    "permute": _permute,
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
    "and": _logic(True),
    "or": _logic(False),
    "select": _select,
    "cast": _cast,
}
