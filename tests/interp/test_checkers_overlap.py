"""Overlap: lanes of one instance that meet on an element."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from blockstep.findings import LanesDisagree, ReadBack, StoresOverlap
from blockstep.interp.checkers.overlap import Overlap
from tests.interp.checking import Bench

BLOCK = np.arange(16)


def bench() -> Bench:
    return Bench(Overlap(), x=np.zeros(64, np.float32), n=np.zeros(64, np.int32))


def test_two_lanes_with_different_values() -> None:
    b = bench()
    b.store("x", BLOCK // 2, BLOCK)
    event = b.only()
    assert isinstance(event, LanesDisagree)
    assert (event.element, event.lanes, event.values, event.count) == (
        (0,),
        ((0,), (1,)),
        ("0.0", "1.0"),
        8,
    )


def test_two_lanes_with_one_value_are_clean() -> None:
    b = bench()
    b.store("x", BLOCK // 2, BLOCK // 2)
    b.barrier()
    b.store("x", BLOCK * 0, 3)
    assert not b.events


def test_masked_lanes_do_not_meet() -> None:
    b = bench()
    b.store("x", BLOCK // 2, BLOCK, mask=BLOCK % 2 == 0)
    assert not b.events
    b.barrier()
    b.store(
        "x", BLOCK.reshape(4, 4) // 2, BLOCK.reshape(4, 4), mask=BLOCK.reshape(4, 4) > 8, line=3
    )
    assert b.only().lanes == ((2, 2), (2, 3))


def test_a_store_over_a_part_of_another() -> None:
    b = bench()
    b.store("x", BLOCK, BLOCK + 1)
    b.store("x", BLOCK + 8, 13, line=2)
    event = b.only()
    assert isinstance(event, StoresOverlap)
    assert event.second.count == 7  # x[12] is 13 already
    assert event.second.elements[4] == (13,)


def test_a_barrier_between_stores() -> None:
    b = bench()
    b.store("x", BLOCK, BLOCK + 1)
    b.barrier()
    b.store("x", BLOCK + 8, 50, line=2)
    assert not b.events


def test_the_same_lanes_may_store_again() -> None:
    b = bench()
    b.store("x", BLOCK, 1)
    b.store("x", BLOCK, 2, line=2)
    b.store("x", BLOCK, 3, line=3, mask=BLOCK < 5)
    assert not b.events


def test_equal_values_may_be_stored_again() -> None:
    b = bench()
    b.store("x", BLOCK, 1)
    b.store("x", BLOCK + 3, 1, line=2)
    assert not b.events


def test_a_load_at_other_lanes() -> None:
    b = bench()
    b.store("x", BLOCK, 1)
    b.load("x", BLOCK, line=2)
    assert not b.events
    b.load("x", BLOCK + 1, line=3)
    event = b.only()
    assert isinstance(event, ReadBack) and event.second.count == 15


def test_a_barrier_before_the_load() -> None:
    b = bench()
    b.store("x", BLOCK, 1)
    b.barrier()
    b.load("x", BLOCK[::-1].copy(), line=2)
    assert not b.events


def test_a_store_that_changed_nothing_may_be_read() -> None:
    b = bench()
    b.store("x", BLOCK, 0)
    b.load("x", BLOCK[::-1].copy(), line=2)
    assert not b.events


def test_one_element_of_a_row_that_was_stored() -> None:
    b = bench()
    b.store("x", BLOCK, 1)
    b.load("x", 5, line=2)
    assert isinstance(b.only(), ReadBack) and b.only().second.elements == ((5,),)


def test_scalars_follow_program_order() -> None:
    b = bench()
    b.store("x", 3, 1)
    b.load("x", 3, line=2)
    b.store("x", 3, 2, line=3)
    assert not b.events


def test_instances_do_not_meet_here() -> None:
    b = bench()
    b.instances(2, lambda p: b.store("x", BLOCK + p, p + 1, p))
    b.instances(2, lambda p: b.load("x", BLOCK, p, line=4))
    assert not b.events


def test_load_add_store_over_neighbours() -> None:
    b = bench()
    for tap in range(3):
        b.load("x", BLOCK + tap, line=2 * tap)
        b.store("x", BLOCK + tap, BLOCK + 5 * tap, line=2 * tap + 1)
    assert {type(e) for e in b.events} == {ReadBack, StoresOverlap}


def test_other_widths_meet_byte_by_byte() -> None:
    b = bench()
    b.store("n", BLOCK, 7)
    b.access("read", "load", "n", 0, 0, 9, addresses=b.at("n", 0) + np.arange(4), size=1)
    assert isinstance(b.only(), ReadBack) and b.only().second.count == 1  # only one byte changed


def _oracle(stores: list[tuple[list[int], list[int]]], last: list[int]) -> str:
    """What the last of several stores does to those before, element by element."""
    memory: dict[int, int] = {}
    owner: dict[int, tuple[int, int]] = {}
    for number, (index, values) in enumerate(stores):
        new: dict[int, int] = {}
        for lane, (at, value) in enumerate(zip(index, values, strict=True)):
            if at in new and new[at] != value:
                return "lanes"
            new[at] = value
            past = owner.get(at)
            if (
                past
                and past[0] != number
                and past[1] != lane
                and len(stores[past[0]][0]) == len(index)
            ):
                if memory[at] != value:
                    return "stores"
            if past and past[0] != number and len(stores[past[0]][0]) != len(index):
                if memory[at] != value:
                    return "stores"
        for lane, (at, value) in enumerate(zip(index, values, strict=True)):
            memory[at], owner[at] = value, (number, lane)
    return ""


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.integers(1, 5).flatmap(
            lambda n: st.tuples(
                st.lists(st.integers(0, 9), min_size=n, max_size=n, unique=True),
                st.lists(st.integers(0, 2), min_size=n, max_size=n),
            )
        ),
        min_size=1,
        max_size=4,
    )
)
def test_stores_agree_with_a_table_of_elements(stores: list[tuple[list[int], list[int]]]) -> None:
    b = bench()
    for line, (index, values) in enumerate(stores):
        b.store("n", np.array(index), np.array(values), line=line)
        if b.events:
            break
    kinds: dict[type[Any], str] = {LanesDisagree: "lanes", StoresOverlap: "stores"}
    assert (kinds[type(b.events[0])] if b.events else "") == _oracle(stores, [])
