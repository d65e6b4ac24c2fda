"""Bounds: which lanes are outside, on which side, of what, and which are still executed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockstep.findings import Access, Misaligned, OutOfBounds, Severity, Site
from blockstep.interp.checkers.bounds import Bounds
from tests.interp.checking import CODE, Bench

BLOCK = np.arange(16)


def bench(**arrays: Any) -> Bench:
    return Bench(Bounds(), **(arrays or {"x": np.zeros(100, np.float32)}))


def test_inside_is_clean() -> None:
    b = bench()
    b.load("x", BLOCK)
    assert b.skipped is None and not b.events
    b.load("x", BLOCK + 84)
    assert b.skipped is None and not b.events
    b.load("x", 99)
    assert not b.events


def test_past_the_end() -> None:
    b = bench()
    b.load("x", BLOCK + 96)
    event = b.only()
    assert isinstance(event, OutOfBounds)
    assert (event.where, event.first, event.offsets) == ("end", 100, (96, 111))
    assert event.lanes.count == 12 and event.lanes.box == ((4, 15),)
    assert event.elements[0] == (100,) and event.argument and event.argument.name == "x"
    assert b.skipped.tolist() == [False] * 4 + [True] * 12


def test_a_masked_tail_is_clean_and_a_wrong_mask_is_not() -> None:
    b = bench()
    index = BLOCK + 96
    b.load("x", index, mask=index < 100)
    assert not b.events
    b.load("x", index, mask=index < 102)
    assert b.only().masked and b.only().lanes.count == 2
    assert np.flatnonzero(b.skipped).tolist() == [4, 5]


def test_before_the_start() -> None:
    b = bench()
    b.load("x", BLOCK - 1)
    assert (b.only().where, b.only().first) == ("start", -1)
    assert b.skipped.tolist() == [True] + [False] * 15


def test_a_scalar_outside_is_skipped() -> None:
    b = bench()
    b.store("x", 3, 1)
    b.access("write", "store", "x", 100, 0, 1)
    assert b.only().where == "end" and bool(b.skipped) and b.skipped.shape == ()


def test_a_block_of_two_dimensions_keeps_its_shape() -> None:
    b = bench(x=np.zeros((6, 6), np.float32))
    b.load("x", np.arange(4)[:, None] * 6 + np.arange(8)[None, :])
    assert not b.events  # a row's tail reaches the next row: inside
    b.load("x", np.arange(8)[:, None] * 6 + np.arange(4)[None, :])
    assert b.skipped.shape == (8, 4) and b.only().lanes.box == ((6, 7), (0, 3))


def test_another_array_next_door_does_not_help() -> None:
    whole = np.zeros(64, np.float32)
    b = bench(x=np.zeros(8, np.float32), y=whole)
    b.access("read", "load", "x", BLOCK, 0, 0, addresses=b.at("y", BLOCK))
    assert b.only().argument.name == "x" and b.skipped.all()


def test_gaps_of_a_strided_view_are_outside() -> None:
    whole = np.zeros(64, np.float32)
    b = bench(x=whole[::2])
    b.load("x", BLOCK * 2)
    assert not b.events
    b.load("x", BLOCK)
    assert b.only().where == "gap" and np.flatnonzero(b.skipped).tolist() == list(range(1, 16, 2))


def test_what_another_argument_explains_is_a_doubt_and_is_executed() -> None:
    whole = np.zeros(64, np.float32)
    b = bench(x=whole[:32], y=whole[32:])
    b.load("x", BLOCK + 24)
    assert b.only().severity is Severity.WARNING and b.only().explained_by.name == "y"
    assert b.skipped is None


def test_misaligned() -> None:
    b = bench()
    b.access("read", "load", "x", BLOCK, 0, 0, addresses=b.at("x", BLOCK) + 2)
    event = b.only()
    assert isinstance(event, Misaligned)
    assert (event.needed, event.offset, event.remainder) == (4, 2, 2) and b.skipped.all()


def bare(b: Bench, addresses: Any) -> Access:
    """A load through a pointer that came from memory."""
    access = Access(
        "load", None, None, "read", 4, np.asarray(addresses), None, (0, 0, 0), Site(CODE, 0)
    )
    b.skipped = b.checker.access(access)
    return access


def test_a_pointer_without_provenance_may_reach_what_is_alive() -> None:
    b = bench()
    access = bare(b, b.at("x", BLOCK))
    assert not b.events and access.storage is b.views["x"].storage


@pytest.mark.parametrize(("address", "where"), [(0, "null"), (64, "null"), (1 << 60, "unknown")])
def test_a_pointer_to_nothing(address: int, where: str) -> None:
    b = bench()
    bare(b, np.full(4, address))
    assert b.only().where == where and b.only().argument is None and b.skipped.all()


def test_a_pointer_that_leaves_its_storage() -> None:
    b = bench(x=np.zeros(1 << 16, np.float32))
    bare(b, b.at("x", (1 << 16) - 2 + np.arange(4)))
    assert b.skipped.tolist() == [False, False, True, True]


def test_random_accesses_agree_with_a_set_of_elements() -> None:
    rng = np.random.default_rng(0)
    whole = np.zeros((8, 10), np.int32)
    for _ in range(300):
        view = whole[
            rng.integers(0, 3) :: rng.integers(1, 3), rng.integers(0, 4) : rng.integers(5, 10)
        ]
        b = bench(x=view)
        inside = {
            view.ctypes.data + i * view.strides[0] + j * view.strides[1]
            for i in range(view.shape[0])
            for j in range(view.shape[1])
        }
        index = rng.integers(-4, 90, 12)
        mask = rng.random(12) < 0.7
        b.load("x", index, mask=mask)
        want = [
            bool(m) and int(a) not in inside for a, m in zip(b.at("x", index), mask, strict=True)
        ]
        got = [False] * 12 if b.skipped is None else b.skipped.tolist()
        assert got == want
