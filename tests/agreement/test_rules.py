"""Rules on affine values and rectangles give what the operations' meanings give on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from blockstep.interp.grid.lanes import LEAD, Lanes, affine, of_array
from blockstep.interp.grid.rules import RULES
from blockstep.language import types as ty
from blockstep.language.op import OPS

LEADS = (1, 2, 3)
INTEGERS = (ty.int8, ty.int32, ty.int64, ty.uint8, ty.uint32, ty.uint64)
BINARY = ("add", "sub", "mul", "idiv", "irem", "minimum", "maximum", "lt", "le", "gt", "ge", "eq",
          "ne")  # fmt: skip
COMPARISONS = BINARY[-6:]
SHAPES: Any = st.lists(st.sampled_from([1, 2, 4, 8]), max_size=3).map(tuple)


@st.composite
def leads(draw: Any, low: int, high: int) -> Any:
    """A number, or an array over the programs, some of whose axes have length 1."""
    number = st.integers(low, high)
    if draw(st.booleans()):
        return draw(number)
    shape = tuple([draw(st.sampled_from([1, n])) for n in LEADS])
    count = int(np.prod(shape))
    values = draw(st.lists(number, min_size=count, max_size=count))
    return np.array(values, np.int64).reshape(shape)


@st.composite
def affines(draw: Any, kind: ty.dtype, shape: Any) -> Lanes:
    """An affine value of a type; near its limits now and then."""
    low, high = max(kind.lowest, -40), 60
    if draw(st.integers(0, 5)) == 0:
        low, high = draw(
            st.sampled_from([(kind.lowest, kind.lowest + 20), (kind.highest - 20, kind.highest)])
        )
        if abs(low) >= 1 << 62:
            low, high = -40 if kind.lowest else 0, 60
    const = draw(leads(low, high))
    strides = tuple([draw(st.integers(-9, 9)) if n > 1 else 0 for n in shape])
    made = affine(const, strides, ty.blocked(kind, shape))
    return made if made is not None else _flat(const, kind, shape)


def _flat(const: Any, kind: ty.dtype, shape: Any) -> Lanes:
    made = affine(const, (0,) * len(shape), ty.blocked(kind, shape))
    assert made is not None
    return made


@st.composite
def boxes(draw: Any, shape: Any) -> Lanes:
    """A mask that is on in a rectangle."""
    mask = Lanes(ty.blocked(ty.int1, shape))
    bounds = []
    for n in shape:
        a, b = draw(st.integers(0, n)), draw(st.integers(0, n))
        bounds.append((min(a, b), max(a, b)))
    mask.box = tuple(bounds)
    return mask


def full(value: Lanes) -> Any:
    """The elements over all programs."""
    return np.broadcast_to(value.full(), LEADS + value.shape)


def check(name: str, operands: tuple[Lanes, ...], kind: ty.dtype, **attributes: Any) -> None:
    """A rule that decides gives the meaning's elements, and limits that hold."""
    found = RULES[name](operands, attributes, kind)
    if found is None:
        return
    meaning = OPS[name].meaning
    assert meaning is not None
    with np.errstate(all="ignore"):
        wanted = meaning(*[full(x) for x in operands], **attributes)
    np.testing.assert_array_equal(full(found), np.asarray(wanted, kind.scalar.numpy))
    if found.box is not None:
        assert all(0 <= a <= b <= n for (a, b), n in zip(found.box, kind.shape, strict=True))
    elif found.const is not None:
        low, high = found.extent()
        assert low <= int(np.min(wanted)) and int(np.max(wanted)) <= high


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_binary_operations(data: Any) -> None:
    name = data.draw(st.sampled_from(BINARY))
    kind, shape = data.draw(st.sampled_from(INTEGERS)), data.draw(SHAPES)
    x, y = data.draw(affines(kind, shape)), data.draw(affines(kind, shape))
    result = ty.int1 if name in COMPARISONS else kind
    check(name, (x, y), ty.blocked(result, shape))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_comparison_that_turns_along_one_axis(data: Any) -> None:
    """One constant for all programs, one axis: the answer is a rectangle."""
    name = data.draw(st.sampled_from(COMPARISONS[:4]))
    n = data.draw(st.sampled_from([1, 2, 8, 32]))
    kind = ty.blocked(ty.int32, (n, 4))
    x = affine(data.draw(st.integers(-40, 40)), (data.draw(st.integers(-3, 3)), 0), kind)
    y = affine(data.draw(st.integers(-40, 40)), (data.draw(st.integers(-3, 3)), 0), kind)
    assert x is not None and y is not None
    check(name, (x, y), ty.blocked(ty.int1, (n, 4)))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_addresses(data: Any) -> None:
    shape = data.draw(SHAPES)
    pointer = Lanes(ty.blocked(ty.pointer_type(ty.float32), shape))
    pointer.const = data.draw(leads(1 << 20, 1 << 21))
    pointer.strides = tuple([data.draw(st.integers(-16, 16)) if n > 1 else 0 for n in shape])
    offset = data.draw(affines(ty.int32, shape))
    check("addptr", (pointer, offset), pointer.type, itemsize=4)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_casts(data: Any) -> None:
    source, target = (data.draw(st.sampled_from(INTEGERS)) for _ in range(2))
    shape = data.draw(SHAPES)
    x = data.draw(affines(source, shape))
    check("cast", (x,), ty.blocked(target, shape), source=source, target=target)


@st.composite
def any_value(draw: Any, shape: Any) -> Lanes:
    """An affine value, a rectangle, or an array some of whose axes have length 1."""
    pick = draw(st.integers(0, 2))
    if pick == 0:
        return draw(affines(ty.int32, shape))  # type: ignore[no-any-return]
    if pick == 1 and shape:
        return draw(boxes(shape))  # type: ignore[no-any-return]
    lengths = tuple([draw(st.sampled_from([1, n])) for n in LEADS + shape])
    array = np.arange(int(np.prod(lengths)), dtype=np.int32).reshape(lengths)
    return of_array(array, ty.blocked(ty.int32, shape))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_what_moves_elements(data: Any) -> None:
    name = data.draw(st.sampled_from(["splat", "broadcast", "expand_dims", "permute"]))
    shape = () if name == "splat" else data.draw(SHAPES)
    x = data.draw(any_value(shape))
    scalar = x.type.scalar
    if name == "splat":
        wide = data.draw(SHAPES.filter(bool))
        check(name, (x,), ty.blocked(scalar, wide), shape=wide)
    elif name == "broadcast":
        wide = tuple([data.draw(st.sampled_from([2, 4])) if n == 1 else n for n in shape])
        check(name, (x,), ty.blocked(scalar, wide), shape=wide)
    elif name == "expand_dims":
        axis = data.draw(st.integers(0, len(shape)))
        wide = (*shape[:axis], 1, *shape[axis:])
        check(name, (x,), ty.blocked(scalar, wide), axis=axis, rank=len(shape))
    else:
        dims = tuple(data.draw(st.permutations(range(len(shape)))))
        check(name, (x,), ty.blocked(scalar, tuple(shape[d] for d in dims)), dims=dims)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_rectangles_meet_in_a_rectangle(data: Any) -> None:
    shape = data.draw(SHAPES.filter(bool))
    x, y = data.draw(boxes(shape)), data.draw(boxes(shape))
    check("and", (x, y), ty.blocked(ty.int1, shape))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_limits_hold(data: Any) -> None:
    x = data.draw(affines(ty.int32, data.draw(SHAPES)))
    elements = full(x)
    assert x.extent() == (int(elements.min()), int(elements.max()))
    assert LEAD == len(LEADS)
