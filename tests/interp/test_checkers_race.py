"""Races: what each pattern of two program instances is called, and which patterns are clean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockstep.findings import Severity
from blockstep.interp.checkers.race import Race
from tests.interp.checking import Bench

N = 64
BLOCK = np.arange(16)


def bench(**how: Any) -> Bench:
    return Bench(
        Race(**how),
        x=np.zeros(N, np.float32),
        y=np.zeros(N, np.float32),
        lock=np.zeros(4, np.int32),
    )


def test_disjoint_blocks_are_clean() -> None:
    b = bench()
    for p in range(4):
        b.load("x", 16 * p + BLOCK, p)
        b.store("x", 16 * p + BLOCK, p, p)
    assert not b.events


def test_reads_by_all_are_clean() -> None:
    b = bench()
    for p in range(4):
        b.load("x", BLOCK, p)
    assert not b.events


def test_write_after_write() -> None:
    b = bench()
    b.store("x", BLOCK, 1, p=0)
    b.store("x", BLOCK + 12, 2, p=1)
    event = b.only()
    assert event.race_class == "write after write" and not event.same_value
    assert event.severity is None
    assert event.second.elements == ((12,), (13,), (14,), (15,)) and event.second.count == 4
    assert (event.first.program, event.second.program) == ((0, 0, 0), (1, 0, 0))


def test_equal_values_are_a_doubt() -> None:
    b = bench()
    for p in range(4):
        b.store("x", BLOCK, 7, p)
    assert b.only().same_value and b.only().severity is Severity.WARNING


def test_a_different_value_later_is_still_told() -> None:
    b = bench()
    for p, value in enumerate((7, 7, 7, 8, 9)):
        b.store("x", BLOCK, value, p)
    assert [e.same_value for e in b.events] == [True, False]  # type: ignore[attr-defined]


def test_read_after_write_and_write_after_read() -> None:
    b = bench()
    b.store("x", 3, 1, p=0)
    b.load("x", BLOCK, p=1)
    assert b.only().race_class == "read after write"
    assert b.only().second.elements == ((3,),)
    b = bench()
    for p in range(3):
        b.load("x", BLOCK, p)
    b.store("x", 5, 1, p=0)
    assert b.only().race_class == "write after read"
    assert b.only().first.program in ((1, 0, 0), (2, 0, 0))


def test_one_pair_of_sites_is_told_once() -> None:
    b = bench()
    for p in range(4):
        b.store("x", BLOCK, p, p, line=1)
    b.store("x", BLOCK, 9, 4, line=5)
    assert len(b.events) == 2


def test_in_place_shift_races_across_blocks() -> None:
    b = bench()
    for p in range(3):
        b.load("x", 16 * p + BLOCK + 1, p)
        b.store("x", 16 * p + BLOCK, 1, p)
    assert b.only().race_class == "write after read" or b.only().race_class == "read after write"


def test_a_launch_orders_all() -> None:
    b = bench()
    b.store("x", BLOCK, 1, p=0)
    b.checker.launch_end()
    b.begin()
    b.store("x", BLOCK, 2, p=1)
    assert not b.events


def test_atomics_are_clean_and_mixed_with_plain_are_not() -> None:
    b = bench()
    for p in range(4):
        b.atomic("atomic_add", "x", BLOCK % 4, p, sem="relaxed")
    assert not b.events
    b.load("x", 2, p=1)
    assert b.only().why in ("mixed", "relaxed")


def test_scope_cta_orders_nobody() -> None:
    b = bench()
    b.atomic("atomic_add", "x", 0, 0, scope="cta")
    b.atomic("atomic_add", "x", 0, 1, scope="cta")
    assert b.only().why == "scope"


def test_atomics_of_two_sizes_race() -> None:
    b = bench()
    b.atomic("atomic_add", "x", 0, 0, size=4, sem="relaxed")
    b.atomic("atomic_add", "x", 0, 1, size=8, sem="relaxed")
    assert b.only().race_class == "write after write"


def locked(b: Bench, index: Any, sem: str | None, barrier: bool = True) -> None:
    """Each program instance adds to `x` under a spin lock; every second attempt fails first."""
    for p in range(4):
        if p % 2:
            b.atomic("atomic_cas", "lock", 0, p, wrote=False, sem="acquire")
        b.atomic("atomic_cas", "lock", 0, p, wrote=True, sem="acquire")
        b.load("x", index, p)
        b.store("x", index, p, p)
        if barrier:
            b.barrier(p)
        b.atomic("atomic_xchg", "lock", 0, p, line=3, sem=sem)


@pytest.mark.parametrize("sem", [None, "release", "acq_rel"])
def test_a_spin_lock_is_clean(sem: str | None) -> None:
    b = bench()
    locked(b, BLOCK, sem)
    assert not b.events


def test_a_relaxed_unlock_races() -> None:
    b = bench()
    locked(b, BLOCK, "relaxed")
    assert {e.why for e in b.events} == {"relaxed"}  # type: ignore[attr-defined]
    assert {e.race_class for e in b.events} >= {"read after write"}  # type: ignore[attr-defined]


def test_an_unlock_covers_a_block_only_after_a_barrier() -> None:
    b = bench()
    locked(b, BLOCK, "release", barrier=False)
    assert {e.why for e in b.events} == {"barrier"}  # type: ignore[attr-defined]
    b = bench(barriers=False)
    locked(b, BLOCK, "release", barrier=False)
    assert not b.events


def test_an_unlock_covers_a_scalar_at_once() -> None:
    b = bench()
    locked(b, 3, "release", barrier=False)
    assert not b.events


def test_the_last_arriver_may_read_all() -> None:
    b = bench()
    for p in range(4):
        b.store("x", 16 * p + BLOCK, p, p)
        b.barrier(p)
        b.atomic("atomic_add", "lock", 0, p)
    b.load("x", np.arange(N), 3)
    b.store("x", np.arange(N), 0, 3, line=5)
    assert not b.events


def test_one_that_is_not_the_last_may_not() -> None:
    b = bench()
    for p in range(4):
        b.store("x", 16 * p + BLOCK, p, p)
        b.barrier(p)
        b.atomic("atomic_add", "lock", 0, p)
    b.load("x", np.arange(N), 1)
    assert b.only().race_class == "read after write"
    assert b.only().second.elements[0] == (32,)


@pytest.mark.parametrize("sem", ["release", "relaxed"])
def test_a_release_sequence_goes_on_through_others(sem: str) -> None:
    b = bench()
    b.store("x", 0, 1, 0)
    b.atomic("atomic_xchg", "lock", 0, 0, sem="release")
    b.store("x", 1, 1, 1)
    b.atomic("atomic_add", "lock", 0, 1, sem=sem)
    b.atomic("atomic_add", "lock", 0, 2, sem="acquire")
    b.load("x", 0, 2)
    assert not b.events
    b.load("x", 1, 2)
    assert len(b.events) == (sem == "relaxed")


def test_a_grid_barrier_orders_all_readers_before_a_write() -> None:
    b = bench()
    for p in range(4):
        b.load("x", np.arange(N), p)
        b.barrier(p)
        b.atomic("atomic_add", "lock", 0, p)
    for p in range(4):
        b.atomic("atomic_add", "lock", 0, p, line=6, sem="acquire")
        b.store("x", 16 * p + BLOCK, 1, p)
    assert not b.events


def test_a_volatile_load_is_atomic_but_orders_nothing() -> None:
    b = bench()
    b.store("x", 0, 1, 0)
    b.atomic("atomic_xchg", "lock", 0, 0, sem="release")
    b.load("lock", 0, 1, sem="volatile")
    assert not b.events
    b.load("x", 0, 1)
    assert b.only().race_class == "read after write"


def test_many_instances_and_a_lock_stay_cheap() -> None:
    b = bench()
    for p in range(1024):
        b.atomic("atomic_cas", "lock", 0, p, wrote=True)
        b.load("x", BLOCK, p)
        b.store("x", BLOCK, p, p)
        b.barrier(p)
        b.atomic("atomic_xchg", "lock", 0, p, line=3)
        b.checker.instance_end((p, 0, 0))
    assert not b.events


def test_a_relaxed_unlock_after_a_barrier_is_not_told_as_a_lack_of_one() -> None:
    b = bench()
    locked(b, BLOCK, "relaxed", barrier=True)
    assert b.events and {e.why for e in b.events} == {"relaxed"}  # type: ignore[attr-defined]


def test_polling_a_flag_without_acquire_is_told_as_relaxed() -> None:
    b = bench()
    b.store("x", 0, 1, 0)
    b.atomic("atomic_xchg", "lock", 0, 0, sem="release")
    b.load("lock", 0, 1, sem="volatile")
    b.load("x", 0, 1)
    assert b.only().why == "relaxed"


def test_load_add_store_is_one_finding() -> None:
    b = bench()
    for p in range(3):
        b.load("x", BLOCK, p)
        b.store("x", BLOCK, p, p)
    assert b.only().race_class == "read after write"


def test_two_places_that_race_both_ways_are_one_finding() -> None:
    b = bench()
    for p in range(2):
        b.load("x", 16 * (1 - p) + BLOCK, p)
        b.store("x", 16 * p + BLOCK, p, p)
    assert b.only().race_class == "read after write"
