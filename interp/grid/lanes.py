"""Values of many program instances.

A batch is a box of the grid; its three axes (z, y, x) *lead* every array. A value is carried in the
cheapest form that is exact:

* `const + sum(strides[k] * position[k])` for integers and addresses, where `const` is a Python
  integer or a small array over the programs (shape lead, axes of length 1 where it does not vary);
* for a mask: the rectangle of the block in which it is on;
* an array of shape lead + block, any of whose axes may have length 1 where nothing varies.

Invariant: arrays broadcast to lead + block shape; an affine value's elements all lie in the type's
range (what would wrap is computed as an array, so that it wraps). `undefined` names the masks under
which the value is defined (a masked load without `other`); `marks` are arrays of the elements that
carry one, by name. Both are exact: nothing is marked in `undefined` but where a mask is off.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from blockstep.language.types import dtype

Shape = tuple[int, ...]
Box = tuple[tuple[int, int], ...]
NONE: frozenset[Any] = frozenset()
LEAD = 3
SAFE = 1 << 62  # numbers below it can be added without leaving 64 bits


class Lanes:
    """One IR value in one batch."""

    __slots__ = ("type", "const", "strides", "array", "box", "limits", "origin", "undefined",
                 "marks", "implies", "moved", "flight", "shadow", "_dense")  # fmt: skip

    def __init__(self, type: dtype) -> None:
        self.type = type
        self.const: Any = None  # affine, if not None
        self.strides: Shape = ()
        self.array: Any = None
        self.box: Box | None = None  # a mask that is on in a rectangle, the same for all programs
        self.limits: tuple[int, int] | None = None
        self.origin: Any = None
        self.undefined: frozenset[Any] = NONE  # masks (Lanes): undefined where one of them is off
        self.marks: dict[str, Any] = {}  # never changed, only replaced
        self.implies: frozenset[Any] = NONE  # masks that are on wherever this one is
        self.moved: dict[Any, Lanes] = {}  # this mask stretched or permuted, by how
        self.flight: frozenset[Any] = NONE  # products whose sums this is, still in flight
        self.shadow: Any = None  # of `interp.shadows`: float64, broadcasts to lead + block
        self._dense: Any = None

    @property
    def shape(self) -> Shape:
        return self.type.shape

    def data(self) -> Any:
        """The elements as an array that broadcasts to lead + block."""
        if self.array is not None:
            return self.array
        if self._dense is None:
            self._dense = self._written_out()
        return self._dense

    def full(self) -> Any:
        """`data` with every block axis at its full length (leading axes may still be 1)."""
        data = self.data()
        shape = self.shape
        if data.shape[LEAD:] == shape:
            return data
        return np.broadcast_to(data, data.shape[:LEAD] + shape)

    def _written_out(self) -> Any:
        if self.box is not None:
            out = np.zeros((1,) * LEAD + self.shape, bool)
            out[(slice(None),) * LEAD + tuple([slice(a, b) for a, b in self.box])] = True
            return out
        rank = len(self.shape)
        const = np.asarray(self.const, np.int64)
        lead = const.shape if const.ndim else (1,) * LEAD
        out = const.reshape(lead + (1,) * rank)
        for axis, (n, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            if stride:
                dims = [1] * (LEAD + rank)
                dims[LEAD + axis] = n
                out = out + (np.arange(n, dtype=np.int64) * stride).reshape(dims)
        return out.astype(self.type.scalar.numpy, copy=False)

    def extent(self) -> tuple[int, int]:
        """Limits of an integer value: exact for an affine one, by looking for an array."""
        if self.limits is None:
            if self.const is not None:
                low, high = span(self.strides, self.shape)
                if isinstance(self.const, int):
                    self.limits = (self.const + low, self.const + high)
                else:
                    self.limits = (int(self.const.min()) + low, int(self.const.max()) + high)
            else:
                data = self.data()
                self.limits = (int(data.min()), int(data.max()))
        return self.limits


def span(strides: Shape, shape: Shape) -> tuple[int, int]:
    """How far below and above its constant an affine block reaches."""
    low = high = 0
    for n, stride in zip(shape, strides, strict=True):
        if stride > 0:
            high += stride * (n - 1)
        else:
            low += stride * (n - 1)
    return low, high


def of_array(array: Any, type: dtype) -> Lanes:
    """A value held as an array."""
    value = Lanes(type)
    value.array = array
    return value


def affine(const: Any, strides: Shape, type: dtype) -> Lanes | None:
    """An affine value, or None where an element would leave the type's range."""
    value = Lanes(type)
    value.const, value.strides = const, strides
    scalar = type.scalar
    if scalar._integer:
        low, high = value.extent()
        if low < scalar.lowest or high > scalar.highest:
            return None
    return value


def constant(number: Any, type: dtype) -> Lanes:
    """The same number in every element of every program."""
    if type.scalar._integer and type.scalar.primitive_bitwidth > 1 and abs(number) < SAFE:
        value = Lanes(type)
        value.const, value.strides = int(number), (0,) * len(type.shape)
        return value
    array = np.full((1,) * (LEAD + len(type.shape)), number, type.scalar.numpy)
    return of_array(array, type)


def unmarked(x: Lanes) -> Lanes:
    """The same elements, of which nothing bad is known."""
    result = Lanes(x.type)
    result.const, result.strides, result.array, result.box = x.const, x.strides, x.array, x.box
    result.limits, result.origin, result.implies = x.limits, x.origin, x.implies
    result.flight, result._dense = x.flight, x._dense
    return result
