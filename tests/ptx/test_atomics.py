"""Atomics of the ptx machine: what is left in memory, what comes back, and the order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ptx.programs import kinds, run

STORE = "add.u64 %d4, %d1, %d16; st.global.u32 [%d4], %r1;"


def returned(op: str, start: int, values: Any, **options: Any) -> tuple[int, list[int]]:
    """An atomic of all lanes on one element: what is left, and what each lane got."""
    x, out = np.array([start], np.uint32), np.zeros(32, np.uint32)
    body = f"add.u64 %d5, %d2, %d16; ld.global.u32 %r2, [%d5]; atom.global.{op} %r1, [%d0], %r2;"
    report = run(body + STORE, x, out, np.array(values, np.uint32), **options)
    assert kinds(report) == []
    return int(x[0]), out.tolist()


def test_lanes_at_one_element_act_in_order() -> None:
    values = list(range(32))
    left, old = returned("add.u32", 5, values)
    assert left == 5 + sum(values)
    assert old == [5 + sum(values[:n]) for n in range(32)]


def test_a_seed_gives_another_order_and_the_same_sum() -> None:
    values = list(range(1, 33))
    left, old = returned("add.u32", 0, values, seed=3)
    assert left == sum(values)
    assert old != [sum(values[:n]) for n in range(32)]
    assert sorted(o + v for o, v in zip(old, values, strict=True))[-1] == left


@pytest.mark.parametrize(
    ("op", "start", "left"),
    [("max.s32", 0, 31), ("min.s32", 2, 0), ("or.b32", 0, 31), ("and.b32", 31, 0),
     ("xor.b32", 1, 1), ("exch.b32", 9, 31), ("max.u32", 40, 40)],
)  # fmt: skip
def test_what_is_left(op: str, start: int, left: int) -> None:
    assert returned(op, start, list(range(32)))[0] == left


def test_increments_wrap_at_their_limit() -> None:
    left, old = returned("inc.u32", 0, [2] * 32)
    assert old == [0, 1, 2] * 10 + [0, 1]
    assert left == 2
    assert returned("dec.u32", 0, [2] * 32)[1] == [0, 2, 1] * 10 + [0, 2]


def test_one_exchange_of_many_succeeds() -> None:
    x, out = np.zeros(1, np.uint32), np.zeros(32, np.uint32)
    body = "add.u32 %r2, %r0, 1; atom.global.cas.b32 %r1, [%d0], 0, %r2;" + STORE
    assert kinds(run(body, x, out)) == []
    assert out.tolist() == [0] + [1] * 31
    assert x[0] == 1


@pytest.mark.parametrize(
    ("start", "compared", "written", "left", "seen"),
    [(0, 0, 7, 7, 7), (3, 0, 7, 3, 3), (4, 4, 4, 4, 4)],
)
def test_lanes_that_all_exchange_the_same_see_what_the_first_left(
    start: int, compared: int, written: int, left: int, seen: int
) -> None:
    x, out = np.array([start, 99], np.uint32), np.zeros(32, np.uint32)
    body = f"atom.global.cas.b32 %r1, [%d0], {compared}, {written};" + STORE
    assert kinds(run(body, x, out)) == []
    assert out.tolist() == [start] + [seen] * 31
    assert x.tolist() == [left, 99]


def test_two_locks_are_each_taken_once() -> None:
    x, out = np.array([0, 1], np.uint32), np.zeros(32, np.uint32)
    body = (
        "and.b32 %r3, %r0, 1; mad.wide.u32 %d5, %r3, 4, %d0;"
        "atom.global.exch.b32 %r1, [%d5], 1;" + STORE
    )
    assert kinds(run(body, x, out)) == []
    assert out.tolist() == [0, 1] + [1] * 30


def test_floats_are_added_one_after_the_other() -> None:
    values = np.linspace(0.1, 3.7, 32, dtype=np.float32)
    x = np.array([1e7], np.float32)
    body = "add.u64 %d5, %d1, %d16; ld.global.f32 %f1, [%d5]; red.global.add.f32 [%d0], %f1;"
    assert kinds(run(body, x, values)) == []
    total = np.float32(1e7)
    for value in values:
        total = np.float32(total + value)
    assert x[0] == total


def test_shared_memory_counts_too() -> None:
    out = np.zeros(32, np.uint32)
    body = """.shared .align 4 .b8 bins[16]; setp.lt.u32 %p1, %r0, 4; mov.u32 %r2, bins;
        and.b32 %r3, %r0, 3; mad.lo.u32 %r4, %r3, 4, %r2; mov.u32 %r5, 0; mov.u32 %r6, 1;
        @%p1 st.shared.u32 [%r4], %r5; bar.sync 0; red.shared.add.u32 [%r4], %r6; bar.sync 0;
        ld.shared.u32 %r1, [%r4];""" + STORE.replace("%d1,", "%d0,")
    assert kinds(run(body, out)) == []
    assert set(out.tolist()) == {8}


def test_an_atomic_outside_of_an_array_changes_nothing() -> None:
    x = np.zeros(32, np.uint32)
    body = "mov.u32 %r2, 1; add.u64 %d3, %d0, %d16; red.global.add.u32 [%d3+4], %r2;"
    assert kinds(run(body, x)) == ["out-of-bounds"]
    assert x.tolist() == [0] + [1] * 31


@pytest.mark.parametrize("type", ["u32", "s32"])
def test_many_lanes_at_a_few_elements_see_the_sums_before_them(type: str) -> None:
    counts, seen = np.array([0xFFFFFFF0, 5, 7], np.uint32), np.zeros(128, np.uint32)
    body = f"""
    rem.u32 %r2, %r0, 3;
    mul.wide.u32 %d2, %r2, 4;
    add.u64 %d2, %d0, %d2;
    mul.lo.u32 %r3, %r0, %r0;
    atom.global.add.{type} %r4, [%d2], %r3;
    add.u64 %d3, %d1, %d16;
    st.global.u32 [%d3], %r4;"""
    expected, olds = counts.tolist(), []
    for lane in range(128):
        olds.append(expected[lane % 3])
        expected[lane % 3] = (expected[lane % 3] + lane * lane) % 2**32
    assert run(body, counts, seen, threads=128).faults == []
    assert (counts.tolist(), seen.tolist()) == (expected, olds)
