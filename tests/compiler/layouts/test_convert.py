"""Conversions are run, lane by lane: every holder of the target gets its element."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blockstep.compiler import layouts as ll
from blockstep.compiler.layouts.shuffle import shuffle
from blockstep.ir import Layout
from tests.compiler.layouts.random_layouts import Array, pairs, table

SIZES = st.sampled_from([1, 2, 4, 8])
ACCUMULATOR = ll.mma_accumulator((64, 64), (4, 1))


def shuffled(source: Layout, target: Layout, plan: ll.Shuffle) -> Array:
    """What the rounds leave in the target's registers, `cta warp lane register`."""
    before, after = table(source), np.full((*table(target).shape,), -1)
    for cta, warp in np.ndindex(after.shape[:2]):
        filled = {lane: dict[int, int]() for lane in range(32)}
        for one in plan.rounds:
            offered = [
                [before[cta, warp, lane, r ^ plan.offer.of(lane, warp, cta)] for r in one.source]
                for lane in range(32)
            ]
            for lane in range(32):
                got = offered[plan.read.of(lane, warp, cta) ^ one.lane]
                for register, value in zip(one.target, got, strict=True):
                    into = register ^ plan.place.of(lane, warp, cta)
                    assert into not in filled[lane], "a register is filled twice"
                    filled[lane][into] = value
        for lane in range(32):
            for register, copied in enumerate(plan.copies):
                after[cta, warp, lane, register] = filled[lane][copied]
    return after


def through_memory(source: Layout, target: Layout, plan: ll.Shared) -> Array:
    """What loads give after the stores of every CTA, `cta warp lane register`."""
    after = np.full(table(target).shape, -1)
    for cta in range(source.num_ctas):
        memory = np.full(plan.swizzle.address(0) + source.numel, -1)
        for warp, lane in np.ndindex(source.num_warps, 32):
            own = plan.swizzle.address(source.element(0, lane, warp, cta))
            for one in ll.accesses(source, plan.swizzle, plan.store_vector):
                for slot, registers in enumerate(one.registers):
                    value = source.element(registers[0], lane, warp, cta)
                    memory[(one.address ^ own) + slot] = value
        for warp, lane in np.ndindex(target.num_warps, 32):
            own = plan.swizzle.address(target.element(0, lane, warp, cta))
            for one in ll.accesses(target, plan.swizzle, plan.load_vector):
                for slot, registers in enumerate(one.registers):
                    after[cta, warp, lane, list(registers)] = memory[(one.address ^ own) + slot]
    return after


def converted(source: Layout, target: Layout, plan: ll.Conversion) -> Array:
    if isinstance(plan, ll.Nothing):
        return table(source)
    if isinstance(plan, ll.Registers):
        return table(source)[..., list(plan.permutation)]
    if isinstance(plan, ll.Shuffle):
        return shuffled(source, target, plan)
    return through_memory(source, target, plan)


def crosses_ctas(source: Layout, target: Layout) -> bool:
    """Whether a CTA of the target has an element that the same CTA of the source has not."""
    flat = [table(one).reshape(one.num_ctas, -1) for one in (source, target)]
    return not all(set(b.tolist()) <= set(a.tolist()) for a, b in zip(*flat, strict=True))


@settings(max_examples=300)
@given(pairs(), SIZES)
def test_every_holder_gets_its_element(pair: tuple[Layout, Layout], itemsize: int) -> None:
    source, target = pair
    if source.num_ctas != target.num_ctas or crosses_ctas(source, target):
        with pytest.raises(ValueError, match="CTAs"):
            ll.plan(source, target, itemsize)
        return
    plan = ll.plan(source, target, itemsize)
    assert (converted(source, target, plan) == table(target)).all()


@settings(max_examples=300)
@given(pairs(), SIZES)
def test_shuffles_give_every_holder_its_element(pair: tuple[Layout, Layout], itemsize: int) -> None:
    """As before, where shared memory would be cheaper too."""
    source, target = pair
    if source.num_ctas != target.num_ctas:
        return
    plan = shuffle(source, target, itemsize)
    if plan is not None:
        assert (shuffled(source, target, plan) == table(target)).all()
        assert len(plan.rounds) * len(plan.rounds[0].source) <= target.per_lane
        assert len(plan.rounds[0].source) * itemsize <= max(4, itemsize)
        return
    if len(set(target.bases) - {0}) == len(source.bases) and ll.redundant(source) == (0, 0, 0, 0):
        assert leaves_a_warp(source, target)


def leaves_a_warp(source: Layout, target: Layout) -> bool:
    """Whether a warp of the target has an element that the same warp of the source has not."""
    flat = [table(one).reshape(one.num_ctas * one.num_warps, -1) for one in (source, target)]
    return not all(set(b.tolist()) <= set(a.tolist()) for a, b in zip(*flat, strict=True))


def in_registers(source: Layout, target: Layout) -> bool:
    """Whether one table of registers serves all lanes."""
    before = table(source).reshape(-1, source.per_lane)
    after = table(target).reshape(-1, target.per_lane)
    fits = (before[:, :, None] == after[:, None, :]).all(axis=0)
    return bool(fits.any(axis=0).all())


@given(pairs(), SIZES)
def test_nothing_is_shuffled_if_registers_can_be_renamed(
    pair: tuple[Layout, Layout], itemsize: int
) -> None:
    source, target = pair
    if source.num_ctas != target.num_ctas or crosses_ctas(source, target):
        return
    plan = ll.plan(source, target, itemsize)
    assert isinstance(plan, ll.Nothing | ll.Registers) == in_registers(source, target)


def kind(source: Layout, target: Layout, itemsize: int) -> type[ll.Conversion]:
    return type(ll.plan(source, target, itemsize))


def test_the_cheapest_way_is_taken() -> None:
    assert kind(ACCUMULATOR, ACCUMULATOR, 4) is ll.Nothing
    assert kind(ACCUMULATOR, ll.mma_operand(ACCUMULATOR, 0, 64, 2), 2) is ll.Nothing
    assert kind(ACCUMULATOR, ll.mma_operand(ACCUMULATOR, 0, 64, 1), 1) is ll.Shuffle
    assert kind(ACCUMULATOR, ll.coalesced((64, 64), (1, 0), 4, 4), 4) is ll.Shared
    thin, thick = (
        ll.blocked((64,), (2,), (32,), (1,), (0,)),
        Layout((64,), (1, 0), (2, 4, 8, 16, 32), ()),
    )
    assert ll.plan(thin, thick, 4) == ll.Registers((0, 1, 0, 1))


def test_eight_bit_probabilities_become_operands_a_word_at_a_time() -> None:
    plan = ll.plan(ACCUMULATOR, ll.mma_operand(ACCUMULATOR, 0, 64, 1), 1)
    assert isinstance(plan, ll.Shuffle)
    assert len(plan.rounds) == ACCUMULATOR.per_lane // 4
    assert all(len(one.source) == 4 for one in plan.rounds)


def test_lanes_that_hold_everything_pick_without_shuffling() -> None:
    everything = Layout((32,), (1, 2, 4, 8, 16), (0,) * 5, ())
    one_each = Layout((32,), (), (2, 1, 16, 8, 4), ())
    plan = ll.plan(everything, one_each, 4)
    assert isinstance(plan, ll.Shuffle) and plan.in_lane
    back = ll.plan(one_each, everything, 4)
    assert isinstance(back, ll.Shuffle) and not back.in_lane
    assert len(back.rounds) == 32


def test_a_lane_that_is_a_copy_offers_what_others_miss() -> None:
    """Lane 16 wants element 16, which every lane has in register 1; lane 1 is free to offer it."""
    source = Layout((32,), (16,), (0, 1, 2, 4, 8), ())
    target = Layout((32,), (), (1, 2, 4, 8, 16), ())
    plan = shuffle(source, target, 4)
    assert plan is not None and len(plan.rounds) == 1
    assert (shuffled(source, target, plan) == table(target)).all()


def test_registers_are_exchanged_in_lanes_no_more_than_needed() -> None:
    plan = shuffle(
        Layout((8, 4), (8, 1, 2, 0), (0, 0, 4, 16, 0), ()),
        Layout((8, 4), (0, 1, 16, 0), (8, 0, 4, 2, 0), ()),
        4,
    )
    assert plan is not None
    assert (len(plan.rounds), plan.cost(4)) == (4, 8.0)


def test_one_lane_that_has_it_all_is_read_in_one_round_each() -> None:
    """32 lanes cannot read 32 registers of one lane in one round."""
    source = Layout((32, 32), (1, 2, 4, 8, 16), (32, 64, 128, 256, 512), (0, 0, 0, 0, 0))
    target = Layout((32, 32), (), (1, 2, 4, 8, 16), (32, 64, 128, 256, 512))
    assert shuffle(source, target, 4) is None
    assert kind(source, target, 4) is ll.Shared


def test_a_transpose_inside_a_warp_takes_a_round_for_each_register() -> None:
    rows = Layout((32, 4), (1, 2), (4, 8, 16, 32, 64), ())
    columns = Layout((32, 4), (4, 8), (16, 32, 64, 1, 2), ())
    plan = shuffle(rows, columns, 4)
    assert plan is not None and len(plan.rounds) == 4


def test_layouts_of_other_blocks_or_launches_are_refused() -> None:
    one = ll.coalesced((64,), (0,), 1, 4)
    with pytest.raises(ValueError, match=r"a block of \(64,\) is not converted to one of \(128,\)"):
        ll.plan(one, ll.coalesced((128,), (0,), 1, 4), 4)
    with pytest.raises(ValueError, match="different numbers of warps or CTAs"):
        ll.plan(one, ll.coalesced((64,), (0,), 1, 8), 4)


def test_elements_do_not_move_between_ctas() -> None:
    one = Layout((64,), (), (1, 2, 4, 8, 16), (), (32,))
    other = Layout((64,), (), (2, 4, 8, 16, 32), (), (1,))
    with pytest.raises(ValueError, match="elements move between CTAs"):
        ll.plan(one, other, 4)
