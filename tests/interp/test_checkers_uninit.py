"""Uninit: reads of bytes that nothing has written, to the byte."""

from __future__ import annotations

import numpy as np

from blockstep.findings import ReadUnwritten
from blockstep.interp.checkers.uninit import Uninit
from blockstep.interp.registry import registry
from blockstep.interp.unwritten import fill
from tests.interp.checking import Bench

BLOCK = np.arange(16)


def bench(count: int = 32) -> Bench:
    fresh = np.zeros(count, np.float32)
    record = registry.register(fresh)
    assert record is not None
    fill(fresh.view(np.uint8))
    record.forget_writes()
    record.made_by = "numpy.empty"
    return Bench(Uninit(), x=fresh, y=np.zeros(32, np.float32))


def test_reading_what_nobody_wrote() -> None:
    b = bench()
    b.load("x", BLOCK)
    event = b.only()
    assert isinstance(event, ReadUnwritten)
    assert event.unwritten == 64 and event.lanes.count == 16 and event.elements[0] == (0,)
    assert event.argument and event.argument.made_by == "numpy.empty"
    assert event.drawing == (None,) * 16


def test_what_was_stored_may_be_read() -> None:
    b = bench()
    b.store("x", BLOCK, 1)
    b.load("x", BLOCK)
    b.load("x", BLOCK[::-1].copy())
    b.load("x", 3)
    assert not b.events
    b.load("x", BLOCK + 8)
    assert b.only().lanes.count == 8 and b.only().elements[0] == (16,)


def test_a_scattered_store_and_a_gather() -> None:
    b = bench()
    b.store("x", np.array([9, 3, 20, 4]), 1)
    b.load("x", np.array([20, 9, 4, 3]))
    assert not b.events
    b.load("x", np.array([20, 5, 4, 6]))
    assert b.only().elements == ((5,), (6,)) and b.only().unwritten == 8


def test_masked_lanes_read_nothing() -> None:
    b = bench()
    b.store("x", BLOCK, 1, mask=BLOCK < 10)
    b.load("x", BLOCK, mask=BLOCK < 10)
    assert not b.events
    b.load("x", BLOCK, mask=BLOCK < 12)
    assert b.only().lanes.count == 2


def test_one_byte_is_enough() -> None:
    b = bench()
    b.access("write", "store", "x", 0, 0, 1, addresses=b.at("x", 0) + np.arange(3), size=1)
    b.load("x", 0)
    assert b.only().unwritten == 1


def test_an_atomic_reads_and_writes() -> None:
    b = bench()
    b.atomic("atomic_add", "x", BLOCK)
    assert len(b.events) == 1
    b.load("x", BLOCK)
    assert len(b.events) == 1


def test_ordinary_arrays_are_written() -> None:
    b = bench()
    b.load("y", BLOCK)
    assert not b.events
