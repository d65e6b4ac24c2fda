"""Which bytes a strided array touches: the fast answer against one that lists every byte."""

import itertools
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from blockstep.interp.footprint import Footprint

BASE = 1 << 20


def every_byte(shape: list[int], strides: list[int], itemsize: int) -> set[int]:
    starts = {
        BASE + sum(i * s for i, s in zip(index, strides, strict=True))
        for index in itertools.product(*map(range, shape))
    }
    return {start + byte for start in starts for byte in range(itemsize)}


layouts = st.integers(0, 4).flatmap(
    lambda rank: st.tuples(
        st.lists(st.integers(0, 4), min_size=rank, max_size=rank),
        st.lists(st.integers(-30, 30), min_size=rank, max_size=rank),
        st.sampled_from([1, 2, 4]),
        st.sampled_from([1, 2, 4, 8]),
    )
)


@settings(max_examples=400, deadline=None)
@given(layouts)
def test_membership_is_exact_for_any_strides(layout: tuple[list[int], list[int], int, int]) -> None:
    shape, strides, itemsize, size = layout
    found = Footprint(BASE, shape, strides, itemsize)
    touched = every_byte(shape, strides, itemsize)
    addresses = np.arange(found.lo - 20, found.hi + 20)
    wanted = [all(a + b in touched for b in range(size)) for a in addresses.tolist()]
    assert found.contains(addresses, size).tolist() == wanted
    if touched:
        assert (found.lo, found.hi) == (min(touched), max(touched) + 1)


@settings(max_examples=200, deadline=None)
@given(layouts, st.randoms(use_true_random=False))
def test_an_element_is_found_at_its_own_address(
    layout: tuple[list[int], list[int], int, int], random: object
) -> None:
    shape, strides, itemsize, _ = layout
    if 0 in shape:
        return
    found = Footprint(BASE, shape, [s * itemsize for s in strides], itemsize)
    for index in itertools.islice(itertools.product(*map(range, shape)), 50):
        address = BASE + sum(i * s * itemsize for i, s in zip(index, strides, strict=True))
        at = found.element(address)
        back = BASE + sum(i * s * itemsize for i, s in zip(at, strides, strict=True))
        assert back == address
        assert all(0 <= i < n for i, n in zip(at, shape, strict=True))


def test_rows_that_follow_each_other_are_one_run() -> None:
    found = Footprint(BASE, (64, 64), (256, 4), 4)
    assert found.dense
    assert found.covers(BASE, BASE + 64 * 256)
    assert not found.covers(BASE, BASE + 64 * 256 + 1)


def test_sliding_windows_are_one_run() -> None:
    assert Footprint(BASE, (100, 8), (4, 4), 4).dense


def test_beyond_an_edge_the_index_goes_on() -> None:
    line = Footprint(BASE, (1000,), (4,), 4)
    assert line.element(BASE + 4 * 1000) == (1000,)
    assert line.element(BASE - 4) == (-1,)
    sheet = Footprint(BASE, (4, 8), (40, 4), 4)
    assert sheet.element(BASE + 2 * 40 + 8 * 4) == (2, 8)
    assert sheet.element(BASE + 4 * 40) == (4, 0)


def test_a_reversed_array_counts_from_its_own_start() -> None:
    line = Footprint(BASE, (10,), (-4,), 4)
    assert line.element(BASE) == (0,)
    assert line.element(BASE - 4 * 3) == (3,)


def test_a_huge_array_costs_nothing() -> None:
    found = Footprint(BASE, (1 << 16, 1 << 16), (1 << 18, 2), 1)
    edge = BASE + (1 << 34) - (1 << 18)
    assert found.contains(np.array([BASE, BASE + 1, edge]), 1).tolist() == [True, False, True]
    assert math.prod((1 << 16, 1 << 16)) == 1 << 32
