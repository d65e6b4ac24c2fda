"""Layouts, and questions about them, against the table of all holders."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockstep.compiler import layouts as ll
from blockstep.ir import Layout
from tests.compiler.layouts.random_layouts import images, layouts, table

LANES = (1, 2, 4, 8, 16)


@given(layouts())
def test_an_element_is_the_xor_of_the_bases(layout: Layout) -> None:
    elements = table(layout)
    for cta, warp, lane, register in np.ndindex(elements.shape):
        assert layout.element(register, lane, warp, cta) == elements[cta, warp, lane, register]


@given(layouts())
def test_text_is_read_back(layout: Layout) -> None:
    assert Layout.parse(str(layout)) == layout


def test_text_is_one_short_line() -> None:
    layout = Layout((64, 32), (1, 2, 512, 1024), (4, 8, 16, 32, 64), (128, 256))
    assert str(layout) == "layout<64x32; r=1,2,512,1024; l=4,8,16,32,64; w=128,256>"
    assert (layout.numel, layout.rank, layout.per_lane) == (2048, 2, 16)


@pytest.mark.parametrize("text", ["layout<64; r=>", "64", "layout<64; r=1; l=2; w=>x"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a layout"):
        Layout.parse(text)


def test_what_breaks_a_layouts_promises_is_refused() -> None:
    with pytest.raises(ValueError, match="no power of two"):
        Layout((48,), (16, 32), LANES, ())
    with pytest.raises(ValueError, match="5 lane bases, not 4"):
        Layout((16,), (), LANES[:4], ())
    with pytest.raises(ValueError, match="basis 32 lies outside a block of 32"):
        Layout((32,), (32,), LANES, ())
    with pytest.raises(ValueError, match="basis -1 lies outside"):
        Layout((32,), (-1,), LANES, ())
    with pytest.raises(ValueError, match="only 32 of 64 elements have a holder"):
        Layout((64,), (3,), LANES, ())
    Layout((64,), (35,), LANES, ())


@given(layouts())
def test_without_redundant_bits_every_element_has_one_holder(layout: Layout) -> None:
    spare = ll.redundant(layout)
    elements = table(layout)
    seen = Counter(
        int(elements[cta, warp, lane, register])
        for cta, warp, lane, register in np.ndindex(elements.shape)
        if not (register & spare.registers or lane & spare.lanes)
        and not (warp & spare.warps or cta & spare.ctas)
    )
    assert seen == Counter(range(layout.numel))


def test_a_register_that_copies_a_lane_is_the_redundant_one() -> None:
    assert ll.redundant(Layout((32,), (1,), LANES, (0,))) == (1, 0, 1, 0)


@given(layouts())
def test_an_inverse_finds_the_holder_without_redundant_bits(layout: Layout) -> None:
    spare, holders = ll.redundant(layout), ll.invert(layout)
    for element in range(layout.numel):
        register, lane, warp, cta = found = holders.of(element)
        assert layout.element(register, lane, warp, cta) == element
        assert not any(a & b for a, b in zip(found, spare, strict=True))


@given(layouts(), st.data())
def test_contiguous_registers_hold_neighbours_from_a_multiple_on(
    layout: Layout, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(layout.rank)))
    width = ll.contiguous(layout, order)

    def holds(width: int) -> bool:
        runs = np.array(np.unravel_index(table(layout), layout.shape))
        runs = runs.reshape(layout.rank, -1, width)
        first = runs[..., :1].copy()
        step = np.zeros((layout.rank, 1, width), int)
        step[order[0]] = np.arange(width)
        return bool((runs == first + step).all() and not (first[order[0]] % width).any())

    if not layout.shape:
        assert width == 1
        return
    assert holds(width)
    assert 2 * width > layout.per_lane or not holds(2 * width)


@given(layouts(), st.data())
def test_axis_bits_are_those_that_move_along_the_axis(layout: Layout, data: st.DataObject) -> None:
    if not layout.shape:
        return
    axis = data.draw(st.integers(-layout.rank, layout.rank - 1))
    found = ll.axis_bits(layout, axis)
    for kind, (bases, mask) in enumerate(
        zip((layout.registers, layout.lanes, layout.warps, layout.ctas), found, strict=True)
    ):
        for bit in range(len(bases)):
            holder = [0, 0, 0, 0]
            holder[kind] = 1 << bit
            moved = np.unravel_index(layout.element(*holder), layout.shape)[axis]
            assert bool(moved) == bool(mask >> bit & 1)


def test_an_axis_that_a_block_has_not_is_refused() -> None:
    with pytest.raises(ValueError, match="a block of 1 axes has no axis 1"):
        ll.axis_bits(Layout((32,), (), LANES, ()), 1)


@given(layouts(), st.data())
def test_compose_renames_elements(layout: Layout, data: st.DataObject) -> None:
    bits = layout.numel.bit_length() - 1
    names = tuple(data.draw(st.permutations([1 << bit for bit in range(bits)])))
    renamed = ll.compose(names, layout, (layout.numel,))
    assert (table(renamed) == images(names)[table(layout)]).all()


@st.composite
def pieces(draw: st.DrawFn, axes: int = 2) -> ll.Piece:
    shape = tuple(1 << draw(st.integers(0, 3)) for _ in range(axes))
    one = st.lists(st.integers(0, shape[0] * shape[1] - 1), max_size=2).map(tuple)
    return ll.Piece(shape, draw(one), draw(one), draw(one), draw(one))


@given(pieces(), pieces())
def test_a_product_repeats_the_inner_piece(inner: ll.Piece, outer: ll.Piece) -> None:
    whole = ll.product(inner, outer)
    for low, high, both in (
        (inner.registers, outer.registers, whole.registers),
        (inner.lanes, outer.lanes, whole.lanes),
        (inner.warps, outer.warps, whole.warps),
    ):
        near = np.array(np.unravel_index(images(low), inner.shape))
        far = np.array(np.unravel_index(images(high), outer.shape))
        size = np.array(inner.shape)[:, None, None]
        expected = far[:, :, None] * size + near[:, None, :]
        found = np.array(np.unravel_index(images(both), whole.shape))
        assert (found == expected.reshape(2, -1)).all()


@given(pieces(), pieces())
def test_a_product_divided_by_the_inner_piece_is_the_outer(
    inner: ll.Piece, outer: ll.Piece
) -> None:
    assert ll.divide(ll.product(inner, outer), inner) == outer


def test_a_fragment_divides_an_accumulator_and_not_a_blocked_layout() -> None:
    fragment = ll.Piece((16, 8), (1, 64), (2, 4, 8, 16, 32))
    whole = ll.mma_accumulator((32, 32), (2, 1))
    rest = ll.divide(whole, fragment)
    assert rest == ll.Piece((2, 4), (1, 2), (), (4,), ())
    assert ll.placed(ll.product(fragment, rest)) == whole
    assert ll.divide(ll.coalesced((32, 32), (1, 0), 4, 2), fragment) is None
    assert ll.divide(ll.mma_accumulator((16, 8), (1, 1)), ll.Piece((32, 8))) is None


def test_layouts_are_the_same_whatever_the_shape() -> None:
    flat = Layout((64,), (32,), LANES, ())
    assert ll.same(flat, ll.reshape(flat, (2, 32)))
    assert not ll.same(flat, Layout((64,), (33,), LANES, ()))
    assert not ll.same(flat, Layout((64,), (32, 0), LANES, ()))
