"""Windows, rows, rectangles and masks read and write the elements that plain indices name."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from blockstep.interp.grid import memory
from blockstep.interp.grid.handlers import _framed
from blockstep.interp.grid.lanes import LEAD, Lanes
from blockstep.interp.memory import AddressSpace, View
from blockstep.language import types as ty
from blockstep.runtime.arrays import Binding, view_of

LEADS = (1, 2, 4)
SIZE = 96
KINDS = (ty.int8, ty.float16, ty.float32, ty.int64)


def viewed(kind: ty.dtype) -> tuple[Any, View]:
    """An array of different numbers and the view of it."""
    array = np.arange(SIZE).astype(kind.numpy)
    return array, view_of(array, "x", Binding(AddressSpace()))


@st.composite
def pointers(draw: Any, view: View, kind: ty.dtype, unique: bool = False) -> Lanes:
    """A block of pointers inside the view: affine, or every address."""
    shape = draw(st.sampled_from([(), (4,), (2, 4), (1, 2), (4, 1)]))
    size = kind.itemsize
    strides = tuple([draw(st.integers(-3, 3)) if n > 1 else 0 for n in shape])
    low = sum(min(s * (n - 1), 0) for s, n in zip(strides, shape, strict=True))
    high = sum(max(s * (n - 1), 0) for s, n in zip(strides, shape, strict=True))
    lead = tuple([draw(st.sampled_from([1, n])) for n in LEADS])
    count = int(np.prod(lead))
    pick = draw(st.integers(0, 2))
    if pick == 0:
        step = draw(st.integers(0, (SIZE - 1 - high + low) // max(count - 1, 1)))
        starts = np.arange(count) * step - low
    else:
        inside = st.integers(-low, SIZE - 1 - high)
        starts = np.array(draw(st.lists(inside, min_size=count, max_size=count)))
    made = Lanes(ty.blocked(ty.pointer_type(kind), shape))
    made.origin = view
    made.const = view.base + size * starts.reshape(lead).astype(np.int64)
    made.strides = tuple([s * size for s in strides])
    if pick == 1 and count == 1:
        made.const = int(made.const.reshape(()))
    if draw(st.integers(0, 3)) == 0:
        array = made.data()
        made.const = None
        made.array = array
    return made


@st.composite
def masks(draw: Any, shape: tuple[int, ...]) -> Any:
    """None, or an array some of whose axes have length 1."""
    if draw(st.booleans()):
        return None
    lengths = tuple([draw(st.sampled_from([1, n])) for n in LEADS + shape])
    count = int(np.prod(lengths))
    return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count))).reshape(lengths)


def indices(pointer: Lanes, view: View) -> Any:
    """The element of every lane of every program."""
    index = (pointer.full() - view.base) // view.itemsize
    return np.broadcast_to(index, LEADS + pointer.shape)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_reads(data: Any) -> None:
    kind = data.draw(st.sampled_from(KINDS))
    array, view = viewed(kind)
    pointer = data.draw(pointers(view, kind))
    mask = data.draw(masks(pointer.shape))
    access = memory.touch(pointer, mask, LEADS)
    memory.prove_inside(access)
    fill = data.draw(st.sampled_from([None, 7]))
    other = None if fill is None else np.full((1,) * (LEAD + len(pointer.shape)), fill, kind.numpy)
    found = memory.read(access, kind.numpy, other, data.draw(st.booleans()))
    wanted = array[indices(pointer, view)]
    if mask is not None:
        wanted = np.where(mask, wanted, kind.numpy.type(fill or 0))
    np.testing.assert_array_equal(np.broadcast_to(found, wanted.shape), wanted)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_rectangles_are_read_and_the_rest_is_filled(data: Any) -> None:
    kind = data.draw(st.sampled_from(KINDS))
    array, view = viewed(kind)
    pointer = data.draw(pointers(view, kind).filter(lambda p: p.shape))
    box = []
    for n in pointer.shape:
        a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, n))
        box.append((min(a, b), max(a, b)))
    access = memory.touch(pointer, None, LEADS, tuple(box))
    memory.prove_inside(access)
    fill = np.arange(LEADS[2], dtype=kind.numpy).reshape(1, 1, -1, *[1] * len(pointer.shape))
    other = data.draw(st.sampled_from([None, fill]))
    found = _framed(access, ty.blocked(kind, pointer.shape), other, tuple(box))
    mask = np.zeros(pointer.shape, bool)
    mask[tuple([slice(a, b) for a, b in box])] = True
    wanted = np.where(mask, array[indices(pointer, view)], 0 if other is None else other)
    np.testing.assert_array_equal(np.broadcast_to(found, wanted.shape), wanted)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_writes(data: Any) -> None:
    """The last of several programs and lanes that share an element stays."""
    kind = data.draw(st.sampled_from(KINDS))
    array, view = viewed(kind)
    pointer = data.draw(pointers(view, kind))
    mask = data.draw(masks(pointer.shape))
    access = memory.touch(pointer, mask, LEADS)
    shape = LEADS + pointer.shape
    lengths = tuple([data.draw(st.sampled_from([1, n])) for n in shape])
    values = np.arange(100, 100 + int(np.prod(lengths))).astype(kind.numpy).reshape(lengths)
    wanted = array.copy()
    on = np.broadcast_to(True if mask is None else mask, shape).reshape(-1)
    flat = np.broadcast_to(values, shape).reshape(-1)
    for lane, index in enumerate(indices(pointer, view).reshape(-1)):
        if on[lane]:
            wanted[index] = flat[lane]
    memory.write(access, values, kind.numpy)
    np.testing.assert_array_equal(array, wanted)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_what_is_outside_is_never_proved_inside(data: Any) -> None:
    """Bounds and alignment, for views with gaps too."""
    step, first = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 3))
    kind = data.draw(st.sampled_from(KINDS))
    array = np.arange(SIZE).astype(kind.numpy)
    view = view_of(array[first : first + 24 * step : step], "x", Binding(AddressSpace()))
    shape = data.draw(st.sampled_from([(), (4,), (2, 2)]))
    pointer = Lanes(ty.blocked(ty.pointer_type(kind), shape))
    pointer.origin = view
    count = int(np.prod(LEADS))
    where = st.integers(-2 * kind.itemsize, 30 * kind.itemsize)
    if data.draw(st.booleans()):
        where = st.integers(-1, 26).map(lambda i: i * step * kind.itemsize)
    starts = np.array(data.draw(st.lists(where, min_size=count, max_size=count)), np.int64)
    pointer.const = view.base + starts.reshape(LEADS)
    pointer.strides = tuple(
        [data.draw(st.integers(-2, 2)) * kind.itemsize if n > 1 else 0 for n in shape]
    )
    mask = data.draw(masks(shape))
    active = pointer.full()[np.broadcast_to(True if mask is None else mask, LEADS + shape)]
    allowed = {view.base + i * step * kind.itemsize for i in range(24)}
    try:
        memory.prove_inside(memory.touch(pointer, mask, LEADS))
    except memory.Suspicion:
        return
    assert set(active.tolist()) <= allowed
