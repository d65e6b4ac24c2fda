"""Compact forms of blocks: values whose elements nobody has had to write down yet.

Most integer blocks of a kernel are `start + stride . position`, most masks cover one box of
positions, and most scalars that meet a block are the same in every element. Such a value is
carried as an `Affine`, a `Box` or a `Uniform`; its array is made when somebody asks for
`tensor.handle`. `blockstep.interp.rules` computes with forms.

Invariant: `form.dense(type)` is, bit for bit, what the meanings would have computed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from blockstep.language.types import dtype
from blockstep.language.value import tensor

Strides = tuple[int, ...]
Shape = tuple[int, ...]
Limits = tuple[tuple[int, int], ...]  # first position and the one after the last, for each axis


class Affine:
    """Integers or addresses `const + sum(strides[k] * position[k])`; axes of length 1 have stride
    0. Without strides (None) they are the same everywhere, and so is a scalar. `memo` (of values
    that are used again and again: arguments, ranges) keeps what was made of it."""

    __slots__ = ("const", "memo", "strides")

    def __init__(
        self, const: int, strides: Strides | None, memo: dict[Any, tensor] | None = None
    ) -> None:
        self.const, self.strides, self.memo = const, strides, memo

    def dense(self, type: dtype) -> Any:
        """The elements as an array; a scalar as a NumPy scalar."""
        if self.strides is None:
            return (
                np.broadcast_to(self.scalar(type), type.shape) if type.shape else self.scalar(type)
            )
        return positions(self.const, self.strides, type.shape).astype(type.numpy, copy=False)

    def scalar(self, type: dtype) -> Any:
        """The one element that all are equal to."""
        return type.numpy.type(self.const)

    def stretched(self, old: Shape, new: Shape) -> Affine:
        """With axes of length 1 repeated."""
        return self

    def expanded(self, axis: int) -> Affine:
        """With a new axis of length 1."""
        s = self.strides
        return self if s is None else Affine(self.const, (*s[:axis], 0, *s[axis:]))

    def permuted(self, dims: tuple[int, ...]) -> Affine:
        """With its axes in another order."""
        s = self.strides
        return self if s is None else Affine(self.const, tuple([s[d] for d in dims]))


class Uniform:
    """One value in every element of a block. `memo` (of constants only) keeps what was made of it."""

    __slots__ = ("memo", "value")

    def __init__(self, value: Any, memo: dict[Any, tensor] | None = None) -> None:
        self.value, self.memo = value, memo

    def dense(self, type: dtype) -> Any:
        """The elements as a (read-only) array."""
        return np.broadcast_to(self.value, type.shape)

    def stretched(self, old: Shape, new: Shape) -> Uniform:
        return self

    def expanded(self, axis: int) -> Uniform:
        return self

    def permuted(self, dims: tuple[int, ...]) -> Uniform:
        return self


class Box:
    """A mask that is on in one box of positions, which is not empty, and off elsewhere."""

    __slots__ = ("limits",)
    memo = None

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    @property
    def slices(self) -> tuple[slice, ...]:
        """The box as an index."""
        return tuple([slice(low, high) for low, high in self.limits])

    def dense(self, type: dtype) -> Any:
        """The elements as an array."""
        out = np.zeros(type.shape, bool)
        out[self.slices] = True
        return out

    def stretched(self, old: Shape, new: Shape) -> Box:
        """With axes of length 1 repeated."""
        limits = zip(self.limits, old, new, strict=True)
        return Box(tuple([limit if m == n else (0, n) for limit, m, n in limits]))

    def expanded(self, axis: int) -> Box:
        """With a new axis of length 1."""
        return Box((*self.limits[:axis], (0, 1), *self.limits[axis:]))

    def permuted(self, dims: tuple[int, ...]) -> Box:
        """With its axes in another order."""
        return Box(tuple([self.limits[d] for d in dims]))

    def meet(self, other: Box) -> Box | None:
        """What is in both; None where nothing is."""
        limits = []
        for (a, b), (c, d) in zip(self.limits, other.limits, strict=True):
            low, high = a if a > c else c, b if b < d else d
            if low >= high:
                return None
            limits.append((low, high))
        return Box(tuple(limits))


def positions(const: int, strides: Strides, shape: Shape) -> Any:
    """`const + strides . position` for every position, as int64."""
    out: Any = np.int64(const)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        if stride:
            steps = np.arange(0, n * stride, stride, dtype=np.int64)
            out = out + steps.reshape([n if k == axis else 1 for k in range(len(shape))])
    return out if out.shape == shape else np.broadcast_to(out, shape)


@lru_cache(maxsize=4096)
def span(strides: Strides, shape: Shape) -> tuple[int, int]:
    """The least and the greatest of `strides . position`."""
    low = high = 0
    for n, stride in zip(shape, strides, strict=True):
        if stride > 0:
            high += stride * (n - 1)
        else:
            low += stride * (n - 1)
    return low, high


def added(a: Strides | None, b: Strides | None) -> Strides | None:
    """Strides of a sum."""
    if b is None:
        return a
    if a is None:
        return b
    return tuple([s + t for s, t in zip(a, b, strict=True)])


def scaled(strides: Strides | None, factor: int) -> Strides | None:
    """Strides of a product with a number."""
    return None if strides is None else tuple([s * factor for s in strides])


def compact(x: tensor) -> Any:
    """The array to compute with elementwise: a scalar for a block that is the same everywhere."""
    form = x.form
    if form is None:
        return x._handle
    if type(form) is Uniform:
        return form.value
    if type(form) is Affine and form.strides is None:
        return x._handle if not x.type.shape and x._handle is not None else form.scalar(x.type)
    return x.handle


def formed(form: Any, type: dtype) -> tensor:
    """A value in a compact form."""
    result = tensor(None, type)
    result.form = form
    return result


def uniform(value: Any, type: dtype) -> tensor:
    """A block (or a scalar) of one value."""
    return formed(Uniform(value), type) if type.shape else tensor(value, type)


def integers(const: int, strides: Strides | None, type: dtype) -> tensor | None:
    """An integer value; None where an element would leave the type's range."""
    low = high = const
    if strides is not None:
        least, greatest = span(strides, type.shape)
        low, high = const + least, const + greatest
    scalar = type.scalar
    if low < scalar.lowest or scalar.highest < high:
        return None
    result = tensor(None, type)
    result.form, result.bounds = Affine(const, strides), (low, high)
    return result


def known(x: tensor) -> Affine | None:
    """An integer or a pointer, or a block of them, as far as its form is known."""
    form = x.form
    if type(form) is Affine:
        return form
    if form is not None or x.type.shape:
        return None
    x.form = form = Affine(int(x._handle), None, {})
    return form
