"""Layouts with a name against the formulas of Triton's and of the PTX ISA's figures."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockstep.compiler import layouts as ll
from blockstep.compiler.layouts import axes
from blockstep.ir import Layout
from tests.compiler.layouts.random_layouts import Array, shapes, table


def powers(product: int, count: int) -> st.SearchStrategy[list[int]]:
    """Lists of powers of two with a product."""
    cuts = st.lists(
        st.integers(0, product.bit_length() - 1), min_size=count - 1, max_size=count - 1
    )

    def between(cuts: list[int]) -> list[int]:
        edges = [0, *sorted(cuts), product.bit_length() - 1]
        return [1 << b - a for a, b in zip(edges, edges[1:], strict=False)]

    return cuts.map(between)


def digits(number: int, radices: list[int], order: list[int]) -> list[int]:
    """The coordinates of a number, `order[0]` counting fastest."""
    found = [0] * len(radices)
    for axis in order:
        number, found[axis] = divmod(number, radices[axis])
    return found


@given(shapes().filter(bool), st.data())
def test_blocked_is_nested_boxes_that_wrap_around(
    shape: tuple[int, ...], data: st.DataObject
) -> None:
    rank = len(shape)
    order = data.draw(st.permutations(range(rank)))
    per_lane = data.draw(powers(8, rank))
    lanes, warps = data.draw(powers(32, rank)), data.draw(powers(4, rank))
    layout = ll.blocked(shape, per_lane, lanes, warps, order)
    held = [min(n, length) for n, length in zip(per_lane, shape, strict=True)]
    box = [a * b * c for a, b, c in zip(held, lanes, warps, strict=True)]
    boxes = [max(1, n // b) for n, b in zip(shape, box, strict=True)]
    assert layout.per_lane == prod(held) * prod(boxes)
    elements = table(layout)[0]
    for warp, lane, register in np.ndindex(elements.shape):
        inner = digits(register % prod(held), held, order)
        outer = digits(register // prod(held), boxes, order)
        at = zip(
            shape, held, lanes, warps, box, inner,
            digits(lane, lanes, order), digits(warp, warps, order), outer, strict=True,
        )  # fmt: skip
        position = [(i + h * (a + n * w) + b * o) % s for s, h, n, _, b, i, a, w, o in at]
        assert elements[warp, lane, register] == np.ravel_multi_index(position, shape)


def test_blocked_wants_32_lanes() -> None:
    with pytest.raises(ValueError, match="5 lane bases, not 4"):
        ll.blocked((64,), (1,), (16,), (1,), (0,))
    with pytest.raises(ValueError, match="3 is no power of two"):
        ll.blocked((64,), (3,), (32,), (1,), (0,))


def test_coalesced_goes_along_the_fastest_axis_first() -> None:
    assert ll.coalesced((64, 32), (1, 0), 4, 4) == ll.blocked(
        (64, 32), (1, 4), (4, 8), (4, 1), (1, 0)
    )
    assert ll.coalesced((64, 32), (0, 1), 2, 4) == ll.blocked(
        (64, 32), (2, 1), (32, 1), (1, 4), (0, 1)
    )
    assert str(ll.coalesced((8,), (0,), 4, 4)) == "layout<8; r=1,2; l=4,0,0,0,0; w=0,0>"
    assert str(ll.coalesced((1024,), (0,), 4, 4)).startswith("layout<1024; r=1,2,512; l=4,8,")
    assert str(ll.coalesced((), (), 4, 4)) == "layout<scalar; r=; l=0,0,0,0,0; w=0,0>"


@given(shapes().filter(bool), st.data(), st.sampled_from([1, 2, 4, 8]))
def test_coalesced_has_vectors_of_the_width_asked_for(
    shape: tuple[int, ...], data: st.DataObject, vector: int
) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    layout = ll.coalesced(shape, order, vector, 4)
    assert ll.contiguous(layout, order) >= min(vector, shape[order[0]])


def fragment(elements: Array, shape: tuple[int, ...], lane: int, register: int) -> tuple[int, ...]:
    """Row and column of a register of warp 0."""
    return axes.coordinates(shape, int(elements[0, 0, lane, register]))


@pytest.mark.parametrize("shape", [(16, 8), (64, 64), (128, 16)])
def test_an_accumulator_begins_with_the_m16n8_fragment(shape: tuple[int, int]) -> None:
    elements = table(ll.mma_accumulator(shape, (1, 1)))
    for lane in range(32):
        for register in range(4):
            at = (lane // 4 + 8 * (register // 2), 2 * (lane % 4) + register % 2)
            assert fragment(elements, shape, lane, register) == at


def test_an_accumulator_repeats_over_warps_and_then_registers() -> None:
    layout = ll.mma_accumulator((2, 64, 64), (2, 2, 2))
    at = [axes.coordinates(layout.shape, basis) for basis in layout.warps + layout.registers[2:]]
    warps, tiles = at[:3], at[3:]
    assert warps == [(0, 0, 8), (0, 16, 0), (1, 0, 0)]
    assert tiles == [(0, 0, 16), (0, 0, 32), (0, 32, 0)]
    batches = ll.mma_accumulator((2, 2, 16, 8), (2, 2, 1, 1))
    assert batches.warps == (128, 256)  # the last batch axis first


def test_warps_past_the_end_of_an_axis_hold_copies() -> None:
    assert ll.mma_accumulator((16, 16), (4, 2)).warps == (8, 0, 0)


# Fragments of A and B as the PTX ISA gives them: index of the element, group = lane // 4,
# thread = lane % 4 -> row and column.
A = {
    1: (16, lambda i, g, t: (g + 8 * (i // 4 % 2), t * 4 + i % 4 + (16 if i >= 8 else 0))),
    2: (8, lambda i, g, t: (g + 8 * (i // 2 % 2), t * 2 + i % 2 + (8 if i >= 4 else 0))),
    4: (4, lambda i, g, t: (g + 8 * (i % 2), t + (4 if i >= 2 else 0))),
    8: (1, lambda i, g, t: (g, t)),
}
B = {
    1: (8, lambda i, g, t: (t * 4 + i % 4 + (16 if i >= 4 else 0), g)),
    2: (4, lambda i, g, t: (t * 2 + i % 2 + (8 if i >= 2 else 0), g)),
    4: (2, lambda i, g, t: (t + 4 * i, g)),
    8: (1, lambda i, g, t: (t, g)),
}


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
@pytest.mark.parametrize("index", [0, 1])
def test_operands_begin_with_the_fragment_of_the_manual(itemsize: int, index: int) -> None:
    accumulator = ll.mma_accumulator((32, 32), (2, 1))
    layout = ll.mma_operand(accumulator, index, 64, itemsize)
    assert layout.shape == ((32, 64), (64, 32))[index]
    count, at = (A, B)[index][itemsize]
    elements = table(layout)
    for lane in range(32):
        for register in range(count):
            expected = at(register, lane // 4, lane % 4)
            assert fragment(elements, layout.shape, lane, register) == expected


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
@pytest.mark.parametrize(
    "accumulator",
    [
        ll.mma_accumulator((64, 32), (2, 2)),
        ll.mma_accumulator((32, 64), (1, 4)),
        ll.mma_accumulator((16, 16), (4, 2)),
        ll.mma_accumulator((8, 16), (1, 1)),
        ll.mma_accumulator((4, 32, 16), (2, 1, 2)),
        ll.wgmma_accumulator((128, 32), 8, 16),
    ],
    ids=str,
)
def test_operands_hold_what_each_warps_part_of_the_result_needs(
    accumulator: Layout, itemsize: int
) -> None:
    """Every warp has the rows of A and the columns of B, of all k, that its results come from."""
    k = 64
    parts = [
        table(ll.mma_operand(accumulator, index, k, itemsize))[0].reshape(accumulator.num_warps, -1)
        for index in (0, 1)
    ]
    *batch, m, n = accumulator.shape
    for warp, results in enumerate(table(accumulator)[0].reshape(accumulator.num_warps, -1)):
        *at, row, column = np.unravel_index(np.unique(results), accumulator.shape)
        for index, line, shape in ((0, row, (*batch, m, k)), (1, column, (*batch, k, n))):
            *where, i, j = np.unravel_index(np.unique(parts[index][warp]), shape)
            lines = set(zip(*where, (i, j)[index], strict=True))
            assert lines == set(zip(*at, line, strict=True))
            assert len(i) == k * len(lines)


def test_the_probabilities_of_attention_are_operands_as_they_lie() -> None:
    scores = ll.mma_accumulator((64, 64), (4, 1))
    assert ll.mma_operand(scores, 0, 64, 2) == scores
    wide = ll.wgmma_accumulator((128, 64), 8, 64)
    assert ll.mma_operand(wide, 0, 64, 2) == wide


def test_operands_that_do_not_exist_are_refused() -> None:
    accumulator = ll.mma_accumulator((32, 32), (1, 1))
    with pytest.raises(ValueError, match="k = 8 is shorter than one instruction, k16"):
        ll.mma_operand(accumulator, 0, 8, 2)
    ll.mma_operand(accumulator, 0, 8, 4)
    with pytest.raises(ValueError, match="no operands of 16 bytes"):
        ll.mma_operand(accumulator, 0, 64, 16)
    with pytest.raises(ValueError, match="is no accumulator of mma or wgmma"):
        ll.mma_operand(ll.coalesced((32, 32), (1, 0), 2, 1), 0, 64, 2)
    with pytest.raises(ValueError, match="is no matrix"):
        ll.mma_accumulator((32,), (1,))


@pytest.mark.parametrize(
    ("shape", "num_warps", "n"),
    [((64, 8), 4, 8), ((128, 128), 8, 128), ((64, 256), 8, 64), ((256, 64), 4, 32)],
)
def test_wgmma_accumulators_are_m64nn_fragments(
    shape: tuple[int, int], num_warps: int, n: int
) -> None:
    elements = table(ll.wgmma_accumulator(shape, num_warps, n))
    for warp in range(4):
        for lane in range(32):
            for register in range(n // 2):
                j, half, b = register // 4, register // 2 % 2, register % 2
                at = (16 * warp + lane // 4 + 8 * half, 8 * j + 2 * (lane % 4) + b)
                assert elements[0, warp, lane, register] == np.ravel_multi_index(at, shape)


def test_warpgroups_go_along_m_first() -> None:
    assert ll.wgmma_accumulator((128, 64), 16, 32).warps == (16 * 64, 32 * 64, 64 * 64, 32)
    assert ll.wgmma_accumulator((64, 32), 8, 32).warps == (16 * 32, 32 * 32, 0)


def test_blocks_too_small_for_wgmma_are_refused() -> None:
    with pytest.raises(ValueError, match="m64n64 does not fit a block of 32x64"):
        ll.wgmma_accumulator((32, 64), 4, 64)
    with pytest.raises(ValueError, match="m64n64 does not fit a block of 64x32"):
        ll.wgmma_accumulator((64, 32), 4, 64)
    with pytest.raises(ValueError, match="2 warps are no whole warpgroups"):
        ll.wgmma_accumulator((64, 64), 2, 64)
