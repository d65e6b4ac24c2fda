"""Layouts of shared memory: formulas of swizzles, vector accesses, and bank conflicts counted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockstep.compiler import layouts as ll
from blockstep.compiler.layouts.shared import cost, wavefronts
from blockstep.compiler.layouts.swizzle import optimal_swizzle
from blockstep.ir import Layout
from tests.compiler.layouts.random_layouts import Array, images, layouts, pairs, table

SIZES = st.sampled_from([1, 2, 4, 8])


def test_row_major_counts_the_fastest_axis_first() -> None:
    elements = images(ll.row_major((2, 4, 8), (2, 1, 0)).elements)
    assert (elements == np.arange(64)).all()
    elements = images(ll.row_major((4, 8), (0, 1)).elements)
    assert (elements == np.arange(32).reshape(4, 8).T.reshape(-1)).all()


@pytest.mark.parametrize("parameters", [(8, 1, 8), (4, 2, 4), (1, 4, 16), (8, 1, 1), (2, 16, 2)])
@pytest.mark.parametrize("order", [(1, 0, 2), (0, 1, 2)])
def test_swizzled_moves_groups_by_the_phase_of_the_row(
    parameters: tuple[int, int, int], order: tuple[int, int, int]
) -> None:
    vec, per_phase, max_phase = parameters
    shape = (64, 64, 2)
    shared = ll.swizzled(shape, order, *parameters)
    for address in range(64 * 64 * 2):
        position = [0, 0, address // 4096]
        row, column = address // 64 % 64, address % 64
        group = column // vec ^ row // per_phase % max_phase
        position[order[0]], position[order[1]] = group * vec + column % vec, row
        assert shared.element(address) == np.ravel_multi_index(position, shape)


def test_a_row_too_short_for_its_phases_is_refused() -> None:
    with pytest.raises(ValueError, match="8 groups of 8 do not fit a row of 32"):
        ll.swizzled((64, 32), (1, 0), 8, 1, 8)


@pytest.mark.parametrize("itemsize", [1, 2, 4])
@pytest.mark.parametrize("width", [32, 64, 128])
@pytest.mark.parametrize("rows", [4, 64])
@pytest.mark.parametrize("order", [(1, 0), (0, 1)])
def test_boxes_of_tma_are_swizzled_by_address(
    itemsize: int, width: int, rows: int, order: tuple[int, int]
) -> None:
    """TMA writes a box row by row and XORs byte address bits 4… with bits 7…"""
    columns, in_box = 128, width // itemsize
    shape = (rows, columns) if order == (1, 0) else (columns, rows)
    shared = ll.swizzle_128b(shape, order, itemsize, width)
    for row in range(rows):
        for column in range(columns):
            straight = (column // in_box * rows + row) * width + column % in_box * itemsize
            chunk = (straight >> 7) % (width // 16)
            position = (row, column) if order == (1, 0) else (column, row)
            element = int(np.ravel_multi_index(position, shape))
            assert shared.address(element) * itemsize == straight ^ chunk << 4


def test_the_128_byte_atom_is_eight_rows_of_eight_chunks() -> None:
    shared = ll.swizzle_128b((16, 64), (1, 0), 2)
    for row in range(16):
        for chunk in range(8):
            assert shared.address(row * 64 + chunk * 8) == row * 64 + (chunk ^ row & 7) * 8


def test_swizzles_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="a row of 64 bytes has no swizzle of 128"):
        ll.swizzle_128b((64, 32), (1, 0), 2)
    with pytest.raises(ValueError, match="there is no swizzle of 16 bytes"):
        ll.swizzle_128b((64, 32), (1, 0), 2, 16)
    with pytest.raises(ValueError, match="gives not each of"):
        ll.SharedLayout((4,), (1, 1))


def test_wavefronts_follow_the_rule_of_the_banks() -> None:
    lanes = range(32)
    assert wavefronts([4 * lane for lane in lanes], 4) == 1
    assert wavefronts([0 for _ in lanes], 4) == 1  # one word, for everybody
    assert wavefronts([lane for lane in lanes], 1) == 1  # eight words
    assert wavefronts([8 * lane for lane in lanes], 4) == 2
    assert wavefronts([128 * lane for lane in lanes], 4) == 32
    assert wavefronts([8 * lane for lane in lanes], 8) == 2
    assert wavefronts([16 * lane for lane in lanes], 16) == 4
    assert wavefronts([32 * lane for lane in lanes], 16) == 8
    assert wavefronts([128 * lane for lane in lanes], 16) == 32


@st.composite
def placements(draw: st.DrawFn) -> tuple[Layout, ll.SharedLayout, int]:
    """A layout and a shared layout of its block, mostly one made for it."""
    itemsize = draw(SIZES)
    layout, other = draw(pairs())
    bits = layout.numel.bit_length() - 1
    made = draw(st.booleans())
    if made:
        return layout, optimal_swizzle(layout, other, itemsize), itemsize
    elements = [1 << bit for bit in range(bits)]
    for bit in range(1, bits):
        elements[bit] ^= draw(st.integers(0, (1 << bit) - 1))
    order = tuple(draw(st.permutations(elements)))
    return layout, ll.SharedLayout(layout.shape, order), itemsize


def possible(layout: Layout, shared: ll.SharedLayout, vector: int) -> bool:
    """Whether the same registers of every lane hold aligned vectors, in the order of memory."""
    addresses = np.vectorize(shared.address, otypes=[np.int64])(table(layout))
    by_lane = addresses.reshape(-1, layout.per_lane)
    offsets = by_lane % vector
    same = (offsets == offsets[0]).all()
    whole = {v: set((by_lane[0][by_lane[0] // vector == v] % vector).tolist())
             for v in set((by_lane[0] // vector).tolist())}  # fmt: skip
    return bool(same and all(found == set(range(vector)) for found in whole.values()))


@given(placements())
def test_the_widest_access_is_the_widest_possible(
    placement: tuple[Layout, ll.SharedLayout, int],
) -> None:
    layout, shared, itemsize = placement
    widest = ll.widest(layout, shared, itemsize)
    assert widest * itemsize <= 16 and possible(layout, shared, widest)
    assert widest * 2 * itemsize > 16 or not possible(layout, shared, widest * 2)
    if widest * 2 <= layout.numel and not possible(layout, shared, widest * 2):
        with pytest.raises(ValueError, match="do not hold vectors"):
            ll.accesses(layout, shared, widest * 2)


@given(placements())
def test_accesses_move_every_register(placement: tuple[Layout, ll.SharedLayout, int]) -> None:
    layout, shared, itemsize = placement
    vector = ll.widest(layout, shared, itemsize)
    listed = ll.accesses(layout, shared, vector)
    names = [register for one in listed for slot in one.registers for register in slot]
    assert sorted(names) == list(range(layout.per_lane))
    assert len({one.address for one in listed}) == len(listed)
    by_lane = ll.lane_addresses(layout, shared)
    for cta, warp, lane in np.ndindex(layout.num_ctas, layout.num_warps, 32):
        own = by_lane.of(lane, warp, cta)
        for one in listed:
            assert (one.address ^ own) % vector == 0
            for slot, registers in enumerate(one.registers):
                for register in registers:
                    address = shared.address(layout.element(register, lane, warp, cta))
                    assert address == (one.address ^ own) + slot


@given(placements())
def test_all_accesses_of_all_warps_conflict_alike(
    placement: tuple[Layout, ll.SharedLayout, int],
) -> None:
    layout, shared, itemsize = placement
    vector = ll.widest(layout, shared, itemsize)
    ideal = max(1, vector * itemsize // 4)
    said = ll.bank_conflicts(layout, shared, itemsize, vector)
    for warp in range(layout.num_warps):
        for one in ll.accesses(layout, shared, vector):
            own = [shared.address(layout.element(0, lane, warp)) for lane in range(32)]
            taken = [itemsize * (one.address ^ address) for address in own]
            assert wavefronts(taken, vector * itemsize) - ideal == said
    count = len(ll.accesses(layout, shared, vector))
    assert cost(layout, shared, itemsize) == (count * (ideal + said), count)


def test_accesses_of_more_than_16_bytes_are_refused() -> None:
    layout = ll.coalesced((1024,), (0,), 8, 1)
    with pytest.raises(ValueError, match="no lane accesses 32 bytes at once"):
        ll.bank_conflicts(layout, ll.row_major((1024,), (0,)), 4, 8)


ACCUMULATOR = ll.mma_accumulator((64, 64), (2, 2))
TIDY = [
    (ACCUMULATOR, lambda size: ll.coalesced((64, 64), (1, 0), 16 // size, 4)),
    (ACCUMULATOR, lambda size: ll.coalesced((64, 64), (0, 1), 16 // size, 4)),
    (ACCUMULATOR, lambda size: ll.mma_operand(ACCUMULATOR, 0, 64, size)),
    (ACCUMULATOR, lambda size: ll.mma_operand(ACCUMULATOR, 1, 64, size)),
    (
        ll.coalesced((64, 64), (1, 0), 4, 4),
        lambda size: ll.coalesced((64, 64), (0, 1), 16 // size, 4),
    ),
    (ll.coalesced((64, 64), (1, 0), 4, 4), lambda size: ll.mma_operand(ACCUMULATOR, 1, 64, size)),
    (ll.wgmma_accumulator((64, 64), 4, 64), lambda size: ll.coalesced((64, 64), (1, 0), 8, 4)),
]


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
@pytest.mark.parametrize("number", range(len(TIDY)))
def test_ordinary_conversions_are_free_of_conflicts(number: int, itemsize: int) -> None:
    source, target = TIDY[number][0], TIDY[number][1](itemsize)
    shared = optimal_swizzle(source, target, itemsize)
    for side in (source, target):
        vector = ll.widest(side, shared, itemsize)
        assert ll.bank_conflicts(side, shared, itemsize, vector) == 0


def total(source: Layout, target: Layout, shared: ll.SharedLayout, itemsize: int) -> int:
    return cost(source, shared, itemsize)[0] + cost(target, shared, itemsize)[0]


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
@pytest.mark.parametrize("number", range(len(TIDY)))
def test_no_swizzle_of_rows_is_cheaper(number: int, itemsize: int) -> None:
    source, target = TIDY[number][0], TIDY[number][1](itemsize)
    best = total(source, target, optimal_swizzle(source, target, itemsize), itemsize)
    groups = [(v, p, m) for v in (1, 2, 4, 8, 16) for p in (1, 2, 4, 8) for m in (1, 2, 4, 8, 16)]
    for order in ((1, 0), (0, 1)):
        for vec, per_phase, max_phase in groups:
            if vec * max_phase <= 64:
                shared = ll.swizzled((64, 64), order, vec, per_phase, max_phase)
                assert best <= total(source, target, shared, itemsize)


def test_vectors_are_not_made_of_elements_that_lanes_lie_along() -> None:
    """Lane 1 of the target holds element 1, as register 1 does: addresses that began with it
    would be off the multiple of a vector. Element 8 begins them instead."""
    source = Layout((8, 2), (1, 8), (0, 2, 2, 0, 2), (4,))
    target = Layout((8, 2), (1, 8), (1, 2, 2, 0, 2), (4,))
    shared = optimal_swizzle(source, target, 4)
    assert ll.widest(source, shared, 4) * ll.widest(target, shared, 4) == 8
    assert cost(source, shared, 4)[1] + cost(target, shared, 4)[1] == 3


@settings(max_examples=200)
@given(layouts(ctas=0), st.data(), SIZES)
def test_a_swizzle_for_random_layouts_is_no_worse_than_rows(
    source: Layout, data: st.DataObject, itemsize: int
) -> None:
    target = data.draw(layouts(source.shape, len(source.warps), 0))
    shared = optimal_swizzle(source, target, itemsize)
    rows = ll.row_major(source.shape, range(source.rank)[::-1])
    assert total(source, target, shared, itemsize) <= total(source, target, rows, itemsize)


def test_the_swizzle_of_a_small_block_is_of_that_block() -> None:
    one = ll.scalar(4)
    assert optimal_swizzle(one, one, 4) == ll.SharedLayout((), ())


def memory_after(source: Layout, shared: ll.SharedLayout, itemsize: int) -> Array:
    """Shared memory after the stores of all lanes: the number of the element at each address."""
    memory = np.full(source.numel, -1)
    vector = ll.widest(source, shared, itemsize)
    for cta, warp, lane in np.ndindex(source.num_ctas, source.num_warps, 32):
        own = shared.address(source.element(0, lane, warp, cta))
        for one in ll.accesses(source, shared, vector):
            for slot, registers in enumerate(one.registers):
                value = source.element(registers[0], lane, warp, cta)
                memory[(one.address ^ own) + slot] = value
    return memory


@given(pairs(), SIZES)
def test_stores_fill_memory_as_the_shared_layout_says(
    pair: tuple[Layout, Layout], itemsize: int
) -> None:
    shared = optimal_swizzle(*pair, itemsize)
    assert (memory_after(pair[0], shared, itemsize) == images(shared.elements)).all()
    assert all(a != b for a, b in pairwise(sorted(images(shared.elements).tolist())))
