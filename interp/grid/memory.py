"""Loads, stores and atomics of a batch: strided windows where addresses are affine, else indices.

Every access is proved clean (inside its view, aligned, written before it is read) from its limits
or, where they do not decide, from its elements. What cannot be proved clean raises `Suspicion`, and the
launch is run again, judged, by the step machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blockstep.interp.checkers.uninit import ALL_SET
from blockstep.interp.grid.lanes import LEAD, Box, Lanes, Shape, span
from blockstep.interp.memory import Storage, View


class Suspicion(Exception):
    """Something may be wrong: the step machine shall say what."""


@dataclass(slots=True, eq=False)
class Touch:
    """One access of a batch: affine (`starts` over the programs) or every address."""

    view: View
    storage: Storage
    itemsize: int
    block: Shape
    starts: Any = None  # int, or an array over lead; addresses of position 0
    strides: Shape = ()
    addresses: Any = None  # broadcasts to lead + block
    mask: Any = None  # broadcasts to lead + block; None: all on
    lead: Shape = (1, 1, 1)
    whole: tuple[Shape, Box | None] | None = None  # of the block of which this is a rectangle
    coordinates: tuple[Any, Any, Any] = (0, 0, 0)  # of the program instances, along (z, y, x)
    _elements: Any = None
    _active: Any = None

    def programs(self, grid: tuple[int, int, int]) -> Any:
        """The linear ids of the program instances, shaped to lead."""
        z, y, x = self.coordinates
        ids = np.asarray((z * grid[1] + y) * grid[0] + x, np.int64)
        return np.broadcast_to(ids, self.lead)

    def elements(self) -> Any:
        """The number of every lane's element, counted from the storage's start; broadcasts to lead +
        block. Means nothing where a lane that is off is not aligned."""
        if self._elements is None:
            found = self.dense() - self.storage.base
            found >>= self.itemsize.bit_length() - 1
            self._elements = found
        return self._elements

    def active(self) -> Any:
        """The elements of the lanes that are on, lane by lane."""
        if self._active is None:
            self._active = self.on(self.elements())
        return self._active

    def on(self, values: Any) -> Any:
        """Of values by lane, those of the lanes that are on."""
        shape = self.lead + self.block
        values = np.broadcast_to(values, shape)
        return values if self.mask is None else values[np.broadcast_to(self.mask, shape)]

    def dense(self) -> Any:
        """Every address, as an array that broadcasts to lead + block."""
        if self.addresses is not None:
            return self.addresses
        rank = len(self.block)
        starts = np.asarray(self.starts, np.int64)
        lead = starts.shape if starts.ndim else (1,) * LEAD
        out = starts.reshape(lead + (1,) * rank)
        for axis, (n, stride) in enumerate(zip(self.block, self.strides, strict=True)):
            dims = [1] * (LEAD + rank)
            dims[LEAD + axis] = n
            out = out + (np.arange(n, dtype=np.int64) * stride).reshape(dims)
        self.addresses = out
        return out

    def bounds(self) -> tuple[int, int]:
        """The first byte's address and the one after the last; of the active lanes, if dense."""
        if 0 in self.block:
            return 0, 0
        if self.addresses is None:
            low, high = span(self.strides, self.block)
            least, most = (
                (self.starts, self.starts)
                if isinstance(self.starts, int)
                else (int(self.starts.min()), int(self.starts.max()))
            )
            return least + low, most + high + self.itemsize
        active = self.addresses
        if self.mask is not None:
            active = np.broadcast_to(active, np.broadcast_shapes(active.shape, self.mask.shape))
            active = active[np.broadcast_to(self.mask, active.shape)]
            if active.size == 0:
                return 0, 0
        return int(active.min()), int(active.max()) + self.itemsize


def touch(pointer: Lanes, mask: Any, lead: Shape, box: Box | None = None) -> Touch:
    """The access that a pointer block stands for. Raises Suspicion for unknown memory.

    With a rectangle instead of a mask it is an access of that part of the block, unmasked."""
    view = pointer.origin
    if not isinstance(view, View) or view.storage is None:
        raise Suspicion
    size = pointer.type.scalar.element_ty.itemsize  # type: ignore[attr-defined]
    made = Touch(view, view.storage, size, pointer.shape, mask=mask, lead=lead)
    if pointer.const is not None:
        made.starts, made.strides = pointer.const, pointer.strides
    else:
        made.addresses = pointer.array
    if box is not None:
        _shrink(made, box)
    return made


def _shrink(access: Touch, box: Box) -> None:
    access.whole = access.block, box
    access.block = tuple([b - a for a, b in box])
    if access.starts is not None:
        moved = sum(a * stride for (a, _), stride in zip(box, access.strides, strict=True))
        access.starts = access.starts + moved
    else:
        access.addresses = part(access.addresses, box)


def part(array: Any, box: Box) -> Any:
    """A rectangle of an array over lead + block (axes of length 1 stay)."""
    if array is None or array.ndim == LEAD:
        return array
    cuts = [
        slice(None) if n == 1 else slice(a, b)
        for (a, b), n in zip(box, array.shape[LEAD:], strict=True)
    ]
    return array[(slice(None),) * LEAD + tuple(cuts)]


def prove_inside(access: Touch) -> None:
    """Raises Suspicion unless every active lane is an aligned element of the view."""
    low, high = access.bounds()
    if low == high:
        return
    view = access.view
    if not view.covers(low, high):
        active = access.dense()
        if access.mask is not None:
            shape = np.broadcast_shapes(active.shape, access.mask.shape)
            active = np.broadcast_to(active, shape)[np.broadcast_to(access.mask, shape)]
        if active.size and not view.contains(active, access.itemsize).all():
            raise Suspicion
    _prove_aligned(access, access.itemsize)


def _prove_aligned(access: Touch, size: int) -> None:
    if size == 1:
        return
    base = access.storage.base
    if access.starts is not None:
        if any(stride % size for stride in access.strides):
            raise Suspicion
        starts = np.asarray(access.starts, np.int64)
        if ((starts - base) % size).any() or base % size:
            raise Suspicion
        return
    addresses = access.dense()
    if base % size:
        raise Suspicion
    if int(np.bitwise_or.reduce(addresses - base, axis=None)) % size:
        masked = access.mask
        if masked is None:
            raise Suspicion
        shape = np.broadcast_shapes(addresses.shape, masked.shape)
        active = np.broadcast_to(addresses - base, shape)[np.broadcast_to(masked, shape)]
        if (active % size).any():
            raise Suspicion


def prove_numbers(access: Touch, data: Any) -> None:
    """Raises Suspicion if an active lane of `data` (broadcasting to lead + block) is NaN."""
    lost = np.isnan(data)
    if lost.any() and (access.mask is None or (lost & access.mask).any()):
        raise Suspicion


def window(access: Touch, dtype: np.dtype[Any], memory: Any = None) -> Any:
    """A strided view of the storage's bytes (or of as many others, one for each) for an affine access
    all of whose starts are evenly spaced along each axis of the batch; None otherwise. Axes along
    which nothing varies have length 1."""
    if access.starts is None:
        return None
    data = (access.storage.data if memory is None else memory).data
    base = access.storage.base
    if isinstance(access.starts, int):
        lead, steps, first = (1,) * LEAD, (0,) * LEAD, access.starts
    else:
        found = _spacing(access.starts)
        if found is None:
            return None
        lead, steps, first = found
    return np.ndarray(lead + access.block, dtype, data, first - base, steps + tuple(access.strides))


def _spacing(starts: Any) -> tuple[Shape, Shape, int] | None:
    """The lengths, the constant differences along the axes, and the first start."""
    steps = []
    for axis in range(LEAD):
        n = starts.shape[axis]
        if n == 1:
            steps.append(0)
            continue
        differences = np.diff(starts, axis=axis)
        step = int(differences.flat[0])
        if not (differences == step).all():
            return None
        steps.append(step)
    return starts.shape, tuple(steps), int(starts.flat[0])


def read(access: Touch, dtype: np.dtype[Any], fill: Any, copy: bool) -> Any:
    """The elements (broadcasting to lead + block); `fill` where the mask is off."""
    if access.mask is None:
        found = window(access, dtype)
        if found is not None:
            return found.copy() if copy else found
        if access.starts is not None and access.addresses is None:
            return _rows(access, dtype)
    memory, index = access.storage.typed(dtype, 0), access.elements()
    if access.mask is None:
        return memory.take(index)
    shape = np.broadcast_shapes(index.shape, access.mask.shape, np.shape(fill))
    if memory.size == 0:
        return np.broadcast_to(np.asarray(0 if fill is None else fill, dtype), shape).copy()
    taken = memory.take(np.broadcast_to(index, shape), mode="clip")
    off = np.logical_not(access.mask)
    np.copyto(taken, dtype.type(0) if fill is None else fill, where=off)
    return taken


def _rows(access: Touch, dtype: np.dtype[Any]) -> Any:
    """Blocks at irregular starts: index the window of all starts (never `take`, which would copy
    the overlapping window whole)."""
    size = dtype.itemsize
    low, high = span(access.strides, access.block)
    memory = access.storage.data
    first = access.storage.base
    count = (access.storage.nbytes - (high - low) - size) // size + 1
    steps = (size, *access.strides)
    view = np.ndarray((count, *access.block), dtype, memory.data, -low, steps)
    index = (access.starts - first + low) // size
    return view[index]


def apart(strides: Shape, shape: Shape, itemsize: int) -> bool:
    """Whether elements at such distances certainly share no byte."""
    reach = itemsize - 1
    for stride, n in sorted([(abs(s), n) for s, n in zip(strides, shape, strict=True) if n > 1]):
        if stride <= reach:
            return False
        reach += stride * (n - 1)
    return True


def holds(access: Touch, values: Any) -> Any:
    """Which elements, by lane, hold exactly these bits in memory; masked lanes say anything."""
    dtype = values.dtype
    shape = access.lead + access.block
    there = np.broadcast_to(read(access, dtype, None, copy=True), shape)
    bits = np.dtype(f"u{dtype.itemsize}")
    wanted = np.ascontiguousarray(np.broadcast_to(values, shape))
    return np.ascontiguousarray(there).view(bits) == wanted.view(bits)


def write(access: Touch, values: Any, dtype: np.dtype[Any]) -> None:
    """Stores values (broadcasting to lead + block) in the active lanes; of those that share an
    element the last one's stays. (A window is not written in order.)"""
    if access.mask is None and access.starts is not None and access.addresses is None:
        found = window(access, dtype)
        if found is not None:
            lead = np.broadcast_shapes(found.shape[:LEAD], values.shape[:LEAD])
            if found.shape[:LEAD] == lead and apart(found.strides, found.shape, dtype.itemsize):
                found[...] = values
                return
    access.storage.typed(dtype, 0)[access.active()] = access.on(values)


def prove_stored(access: Touch, values: Any, dtype: np.dtype[Any]) -> None:
    """Raises Suspicion if lanes of one program instance stored different bits to one element. Where
    all lanes read back what they stored, none did."""
    bits = np.dtype(f"u{dtype.itemsize}")
    wanted = np.ascontiguousarray(access.on(values)).view(bits).reshape(-1)
    found = access.storage.typed(bits, 0)
    index = access.active().reshape(-1)
    if np.array_equal(found[index], wanted):
        return
    rows = np.arange(int(np.prod(access.lead))).reshape(access.lead + (1,) * len(access.block))
    keys = access.on(rows).reshape(-1) * len(found) + index  # a number for a program's element
    order = np.argsort(keys, kind="stable")
    keys, wanted = keys[order], wanted[order]
    if ((keys[1:] == keys[:-1]) & (wanted[1:] != wanted[:-1])).any():
        raise Suspicion


def _flags(access: Touch) -> tuple[Any, Any]:
    """Which bytes were written, as one word an element: those of a regular unmasked access (None: it
    is not one), and all of the storage's."""
    flags, size = access.storage.written, access.itemsize
    assert flags is not None
    word = np.dtype(f"u{size}")
    regular = None if access.mask is not None else window(access, word, flags)
    return regular, flags[: flags.size // size * size].view(word)


def unwritten(access: Touch) -> Any:
    """The active lanes (broadcasting to lead + block) that would read a byte which nothing has
    written; None for none."""
    regular, words = _flags(access)
    lost = (words[access.active()] if regular is None else regular) != ALL_SET[access.itemsize]
    if not lost.any():
        return None
    if regular is not None or access.mask is None:
        return lost
    shape = access.lead + access.block
    lanes = np.zeros(shape, bool)
    lanes[np.broadcast_to(access.mask, shape)] = lost
    return lanes


def mark_written(access: Touch) -> None:
    """The bytes under the active lanes are written from now on."""
    regular, words = _flags(access)
    if regular is None:
        words[access.active()] = ALL_SET[access.itemsize]
    else:
        regular[...] = ALL_SET[access.itemsize]
