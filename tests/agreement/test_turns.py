"""Several atomics, and atomics in loops: the grid machine keeps program after program, or gives up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import blockstep as triton
import blockstep.language as tl
from tests.agreement.agree import Outcome, agree, on_grid

PROGRAMS, TURNS, CELLS = 5, 3, 6


@triton.jit
def looped(at, x, o, out, TURNS: tl.constexpr, HOW: tl.constexpr, USED: tl.constexpr):
    p = tl.program_id(0)
    for turn in range(TURNS):
        cell = o + tl.load(at + p * TURNS + turn)
        v = tl.load(x + p * TURNS + turn)
        if HOW == "add":
            old = tl.atomic_add(cell, v)
        elif HOW == "max":
            old = tl.atomic_max(cell, v)
        elif HOW == "xchg":
            old = tl.atomic_xchg(cell, v)
        else:
            old = tl.atomic_cas(cell, v, v + 1)
        if USED:
            tl.store(out + p * TURNS + turn, old)


@triton.jit
def several(at, x, o, out, N: tl.constexpr, USED: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, N)
    v = tl.load(x + p * N + i)
    tl.atomic_add(o + tl.load(at + i), v)
    old = tl.atomic_add(o + tl.load(at + N + i), v, mask=i < 3)
    if p % 2 == 0:
        tl.atomic_max(o + tl.load(at + 2 * N + p), 3)
    else:
        tl.atomic_add(o + tl.load(at + 2 * N + p), 1)
    if USED:
        tl.store(out + p * N + i, old, mask=i < 3)


@triton.jit
def appended(x, count, out, again, N: tl.constexpr):
    p = tl.program_id(0)
    first = tl.atomic_add(count, 1)
    tl.store(out + first, p)
    second = tl.atomic_add(count, N)
    tl.store(again + second, p)


def ran(found: Outcome) -> None:
    """Agreement is all that is asked of what ran; it must have gone through."""
    assert not found.error


numbers = st.lists(st.integers(0, 30), min_size=PROGRAMS * TURNS, max_size=PROGRAMS * TURNS)
cells = st.lists(st.integers(0, CELLS - 1), min_size=PROGRAMS * TURNS, max_size=PROGRAMS * TURNS)


@settings(max_examples=150, deadline=None)
@given(
    cells, numbers, st.sampled_from([np.int32, np.float32]),
    st.sampled_from(["add", "max", "xchg", "cas"]), st.booleans(), st.sampled_from([None, 1, 2]),
)  # fmt: skip
def test_atomics_in_a_loop(
    at: list[int], x: list[int], dtype: Any, how: Any, used: Any, batch: int | None
) -> None:
    if how == "cas":
        dtype = np.int32
    o, out = np.zeros(CELLS, dtype), np.zeros(PROGRAMS * TURNS, dtype)
    values = (np.array(x) * (0.1 if dtype == np.float32 else 1)).astype(dtype)
    named = {"TURNS": TURNS, "HOW": how, "USED": used, "batch": batch}
    ran(agree(looped, (PROGRAMS,), np.array(at, np.int32), values, o, out, **named))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, CELLS - 1), min_size=16, max_size=16),
    st.lists(st.integers(0, 9), min_size=20, max_size=20),
    st.sampled_from([np.int32, np.float32]), st.booleans(), st.sampled_from([None, 1, 2]),
)  # fmt: skip
def test_several_atomics(
    at: list[int], x: list[int], dtype: Any, used: Any, batch: int | None
) -> None:
    o, out = np.zeros(CELLS, dtype), np.zeros(PROGRAMS * 4, dtype)
    values = (np.array(x) * 0.1).astype(dtype)
    named = {"N": 4, "USED": used, "batch": batch}
    ran(agree(several, (PROGRAMS,), np.array(at, np.int32), values, o, out, **named))


def looping(at: list[int], x: list[float], dtype: Any, how: str, used: bool) -> Outcome:
    o, out = np.zeros(8, dtype), np.zeros(8, dtype)
    given = np.array(at, np.int32), np.array(x, dtype), o, out
    return agree(looped, (4,), *given, TURNS=2, HOW=how, USED=used)


def test_each_turn_has_an_element_of_its_own() -> None:
    assert looping([0, 1] * 4, [0.1, 0.2] * 4, np.float32, "add", True).on_grid


def test_an_element_that_later_instances_met_already() -> None:
    at, x = [0, 1, 1, 0, 1, 0, 0, 1], [0.1, 1e4, 0.3, -1e4, 0.7, 0.01, 3, 5]
    assert looping(at, x, np.float32, "add", False).on_grid
    assert looping(at, x, np.float32, "xchg", False).on_grid
    assert not looping(at, x, np.float32, "add", True).on_grid
    assert looping(at, [1] * 8, np.int32, "add", False).on_grid
    assert not looping(at, [1] * 8, np.int32, "add", True).on_grid


@triton.jit
def watched(at, x, o, out, TURNS: tl.constexpr, HOW: tl.constexpr):
    p = tl.program_id(0)
    for turn in range(TURNS):
        tl.atomic_add(o + tl.load(at + p * TURNS + turn), tl.load(x + p * TURNS + turn))
        if HOW == "load":
            tl.store(out + p * TURNS + turn, tl.load(o + tl.load(at + p * TURNS + turn)))
        elif HOW == "store":
            tl.store(o + tl.load(at + p * TURNS + turn), 7.0)
        elif HOW == "other":
            tl.atomic_max(o + tl.load(at + p * TURNS + turn), 2.0)
        elif HOW == "elsewhere":
            tl.atomic_max(out + tl.load(at + p * TURNS + turn), 2.0)
    if HOW == "after":
        tl.store(out + p, tl.atomic_add(o + p, 1.0))


@pytest.mark.parametrize("batch", [None, 1, 2])
@pytest.mark.parametrize("how", ["nothing", "load", "store", "other", "elsewhere", "after"])
@pytest.mark.parametrize("apart", [False, True])
def test_who_else_looks_at_what_waits(how: Any, apart: bool, batch: int | None) -> None:
    at = np.repeat(np.arange(4), 3) if apart else np.array([0, 1, 2] * 4)
    x, o = np.linspace(0.1, 9, 12, dtype=np.float32), np.zeros(12, np.float32)
    named = {"TURNS": 3, "HOW": how, "batch": batch}
    found = agree(watched, (4,), at.astype(np.int32), x, o, o.copy(), **named)
    assert found.on_grid == (how == "nothing")


def test_an_instance_that_repeats_an_atomic_in_vain_lets_others_go_first() -> None:
    assert not looping([0] * 8, [0, 0, 1e8, 1, 1, -1e8, 1, 1], np.float32, "add", False).on_grid
    assert not looping([0, 1] * 4, [0, 0] * 4, np.float32, "add", True).on_grid


def test_what_an_other_order_wrote_is_taken_back() -> None:
    count, out, again = np.zeros(1, np.int32), np.zeros(64, np.int32), np.zeros(64, np.int32)
    found = agree(appended, (4,), count, count, out, again, N=3)
    assert not found.on_grid


@triton.jit
def two_sums(x, w, b, n, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + tl.program_id(0) * N + i, mask=i < n, other=0)
    tl.atomic_add(w + i, v * v, mask=i < n)
    tl.atomic_add(b + i, v, mask=i < n)


def test_sums_into_two_arrays_as_backward_passes_make_them() -> None:
    x = np.random.default_rng(0).normal(size=64).astype(np.float32)
    on_grid(two_sums, (8,), x, np.zeros(8, np.float32), np.zeros(8, np.float32), 6, N=8)


@triton.jit
def scoped(o, SCOPE: tl.constexpr):
    tl.atomic_add(o, 1, scope=SCOPE)


@pytest.mark.parametrize(("scope", "clean"), [("gpu", True), ("sys", True), ("cta", False)])
def test_atomics_that_reach_only_their_own_instance_race(scope: Any, clean: bool) -> None:
    found = agree(scoped, (4,), np.zeros(1, np.int32), SCOPE=scope)
    assert (not found.findings) == clean
    assert found.on_grid == clean


@triton.jit
def widths(o, n):
    wide = o.to(tl.pointer_type(tl.int64))
    tl.atomic_add(wide, 1, mask=tl.program_id(0) < n, sem="relaxed")
    tl.atomic_add(o, 1, sem="relaxed")


@pytest.mark.parametrize("n", [0, 4])
def test_atomics_of_two_widths_race(n: int) -> None:
    found = agree(widths, (4,), np.zeros(2, np.int32), n)
    assert (not found.findings) == (n == 0)


@pytest.mark.parametrize("how", ["add", "max", "xchg"])
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
@pytest.mark.parametrize("seed", [1, 5])
def test_another_seed(how: Any, used: Any, dtype: Any, seed: int) -> None:
    x, at = np.linspace(1, 99, 8).astype(dtype), np.array([0, 1, 1, 0, 2, 2, 0, 3], np.int32)
    o, out = np.zeros(8, dtype), np.zeros(8, dtype)
    found = agree(looped, (4,), at, x, o, out, TURNS=2, HOW=how, USED=used, seed=seed)
    assert found.on_grid == (how != "xchg" and not used and dtype == np.int32)


@triton.jit
def mixed(o, N: tl.constexpr):
    tl.atomic_add(o, tl.program_id(0))
    tl.atomic_max(o, 3)


def test_sums_and_maxima_do_not_commute() -> None:
    assert not agree(mixed, (4,), np.zeros(1, np.int32), N=4, seed=5).on_grid


@triton.jit
def several_kinds(o, n):
    p = tl.program_id(0)
    i = tl.arange(0, 2)
    tl.atomic_xchg(o + (p * 5 + 4) % 8, 1, mask=p < n)
    for _ in range(5):
        if p % 4 == 1:
            tl.atomic_xor(o + i, i)
        else:
            tl.atomic_max(o + i + p, 7, mask=i + 2 * p < n)


def test_a_maximum_in_vain_lets_another_instances_sum_go_first() -> None:
    """The step machine lets an instance wait that changes nothing, so the order is not plain."""
    agree(several_kinds, (6,), np.array([1, 0, 1, 1, 0, 0, 1, 0], np.int32), 2, batch=1)
