"""Operations that move nothing, against NumPy: every register has the value it should have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockstep.compiler import layouts as ll
from blockstep.ir import Layout
from tests.compiler.layouts.random_layouts import Array, layouts, shapes, table


def block(layout: Layout) -> Array:
    """A block whose values are its flat indices."""
    return np.arange(layout.numel).reshape(layout.shape)


def held(layout: Layout, values: Array) -> Array:
    """What every holder holds of a block, `cta warp lane register`."""
    assert values.shape == layout.shape
    return values.reshape(-1)[table(layout)]


@given(layouts(), st.data())
def test_reshape_moves_nothing(layout: Layout, data: st.DataObject) -> None:
    bits = layout.numel.bit_length() - 1
    first = 1 << data.draw(st.integers(0, bits))
    shape = (first, layout.numel // first)
    after = ll.reshape(layout, shape)
    assert (held(after, block(layout).reshape(shape)) == held(layout, block(layout))).all()


def test_reshape_to_another_number_of_elements_is_refused() -> None:
    with pytest.raises(ValueError, match=r"32 elements do not fill a block of shape \(4, 4\)"):
        ll.reshape(Layout((32,), (), (1, 2, 4, 8, 16), ()), (4, 4))


@given(layouts(), st.data())
def test_permute_moves_nothing(layout: Layout, data: st.DataObject) -> None:
    dims = data.draw(st.permutations(range(layout.rank)))
    after = ll.permute(layout, dims)
    assert (held(after, block(layout).transpose(dims)) == held(layout, block(layout))).all()


def test_dims_that_are_no_permutation_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(0, 0\) is no permutation of 2 axes"):
        ll.permute(ll.mma_accumulator((16, 8), (1, 1)), (0, 0))


@given(layouts(), st.data())
def test_expand_dims_moves_nothing(layout: Layout, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-layout.rank - 1, layout.rank))
    after = ll.expand_dims(layout, axis)
    expected = np.expand_dims(block(layout), axis)
    assert (held(after, expected) == held(layout, block(layout))).all()


@given(layouts(), st.data())
def test_a_slice_keeps_what_each_lane_reduces(layout: Layout, data: st.DataObject) -> None:
    if not layout.shape:
        return
    axis = data.draw(st.integers(-layout.rank, layout.rank - 1))
    after, into = ll.drop_axis(layout, axis), ll.slice_registers(layout, axis)
    rest = block(layout).take([0], axis)  # every element's name is that of the first along the axis
    whole = held(layout, np.broadcast_to(rest, layout.shape))
    assert (held(after, rest.squeeze(axis))[..., list(into)] == whole).all()
    assert set(into) == set(range(after.per_lane))
    registers = table(after)[0, 0, 0]
    assert len(set(registers.tolist())) == len(registers)


@given(layouts(), st.data(), st.integers(0, 4), st.booleans())
def test_an_axis_inserted_is_sliced_away_again(
    layout: Layout, data: st.DataObject, bits: int, spread: bool
) -> None:
    axis = data.draw(st.integers(-layout.rank - 1, layout.rank))
    parent = ll.insert_axis(layout, axis, 1 << bits, spread=spread)
    assert parent.shape[axis] == 1 << bits
    without_copies = ll.drop_axis(ll.expand_dims(layout, 0), 0)
    assert ll.drop_axis(parent, axis) == without_copies
    if not spread:
        assert parent.per_lane == layout.per_lane << bits


def test_an_inserted_axis_spreads_over_lanes_that_hold_copies() -> None:
    rows = ll.drop_axis(ll.mma_accumulator((16, 8), (1, 1)), 1)
    assert ll.insert_axis(rows, 1, 8, spread=True) == Layout(
        (16, 8), (64, 4), (1, 2, 8, 16, 32), ()
    )
    assert ll.insert_axis(rows, 1, 8) == Layout((16, 8), (64, 1, 2, 4), (0, 0, 8, 16, 32), ())


@given(st.data(), shapes(), st.booleans())
def test_broadcast_copies_registers(
    data: st.DataObject, shape: tuple[int, ...], spread: bool
) -> None:
    ones = tuple(data.draw(st.sampled_from([1, length])) for length in shape)
    layout = data.draw(layouts(ones))
    after = ll.broadcast(layout, shape, spread=spread)
    values = held(after, np.broadcast_to(block(layout), shape))
    sources = np.arange(after.per_lane) % layout.per_lane
    assert (values == held(layout, block(layout))[..., sources]).all()


def test_only_axes_of_length_one_are_broadcast() -> None:
    with pytest.raises(ValueError, match=r"\(32,\) cannot be broadcast to \(64,\)"):
        ll.broadcast(Layout((32,), (), (1, 2, 4, 8, 16), ()), (64,))


@given(layouts())
def test_join_interleaves_registers(layout: Layout) -> None:
    both = np.stack([block(layout), block(layout) + layout.numel], axis=-1)
    after = held(ll.join(layout), both)
    for operand in (0, 1):
        expected = held(layout, both[..., operand])
        assert (after[..., operand::2] == expected).all()


@given(layouts())
def test_split_undoes_join(layout: Layout) -> None:
    joined = ll.join(layout)
    assert ll.split(joined) == layout
    first, second = ll.split_registers(joined)
    assert first == tuple(range(0, joined.per_lane, 2))
    assert second == tuple(range(1, joined.per_lane, 2))


@given(st.data(), shapes(most=6, axes=2))
def test_halves_lie_in_the_registers_that_split_names(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    layout = data.draw(layouts((*shape, 2)))
    half = ll.split(layout)
    if half is None:
        with pytest.raises(ValueError, match="do not lie in registers of their own"):
            ll.split_registers(layout)
        assert not _can_be_split(layout)
        return
    for which, registers in enumerate(ll.split_registers(layout)):
        whole = held(layout, block(layout))[..., list(registers)]
        assert (held(half, block(layout)[..., which]) == whole).all()


def test_registers_that_move_along_both_axes_are_split_too() -> None:
    layout = Layout((4, 16, 2), (1, 3, 5), (8, 16, 32, 64, 0), ())
    assert ll.split(layout) == Layout((4, 16), (1, 2), (4, 8, 16, 32, 0), ())
    assert ll.split_registers(layout) == ((0, 3, 5, 6), (1, 2, 4, 7))


def _can_be_split(layout: Layout) -> bool:
    """Whether naming registers can split it: all lanes agree which registers are the first half,
    and each lane has the other element of each pair too."""
    elements = table(layout)
    agree = (elements & 1 == elements[:1, :1, :1] & 1).all()
    sets = [set(lane.tolist()) for lane in elements.reshape(-1, layout.per_lane)]
    return bool(agree and all({element ^ 1 for element in held} == held for held in sets))


def test_only_a_last_axis_of_length_two_is_split() -> None:
    with pytest.raises(ValueError, match="its last axis is not 2"):
        ll.split(Layout((32,), (), (1, 2, 4, 8, 16), ()))
