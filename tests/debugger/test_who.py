"""Who touched an element, in order, and whose memory is whose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blockstep.debugger.blame import (
    accesses,
    asking,
    blame,
    candidates,
    mapping,
    memory_map,
    writers,
)
from blockstep.debugger.blame.running import target_of
from blockstep.diagnostics.blame import who_text
from blockstep.findings.blame import Accesses
from blockstep.runtime.ladder.launch import Launch, take
from tests.debugger import blamed_kernels as kernels
from tests.debugger import kernels as others
from tests.debugger.blaming import logged, same_accesses


def launched(kernel: Any, *args: Any, grid: Any = (1,), **constants: Any) -> Launch:
    return take(kernel, args, constants, grid)


def told(launch: Launch, name: str, index: Any, **how: Any) -> Accesses:
    """The answer, compared with a log of everything."""
    found = accesses(launch, name, index, **how)
    target = target_of(launch, name, index)
    if not how:
        same_accesses(found, *logged(launch, target.view, target.address))
    return found


@pytest.fixture
def by_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is found out on the grid machine."""

    def refuse(*args: Any) -> None:
        raise candidates.Dependent

    monkeypatch.setattr(asking, "heard", refuse)
    monkeypatch.setattr(mapping, "heard", refuse)


def test_reads_and_writes_come_in_order_with_values() -> None:
    found = told(launched(kernels.relay, np.array([5, 0, 0], np.int32), grid=(2,)), "x_ptr", (1,))
    assert [(a.kind, a.program, a.before, a.after) for a in found] == [
        ("write", (0, 0, 0), 0, 6), ("read", (1, 0, 0), 6, 6),
    ]  # fmt: skip
    assert (found.start, found.end, found.left_out) == (0, 6, 0)
    assert "0 -> 6" in who_text(found) and "reads 6" in who_text(found)


def test_lanes_that_are_masked_off_touch_nothing() -> None:
    x = np.ones(8, np.float32)
    launch = launched(kernels.chosen, x, x.copy(), x.copy(), 7, 0.5, grid=(2,), BLOCK=4)
    found = told(launch, "x_ptr", (7,))
    assert (len(found), found.count) == (0, 0)
    assert "does not touch it" in who_text(found)


def test_other_views_of_the_memory_count() -> None:
    x = np.zeros(8, np.float32)
    launch = launched(kernels.chosen, x[3:], x, x[4:], 4, 0.5, BLOCK=4)
    found = told(launch, "y_ptr", (6,))
    assert [(a.kind, a.through) for a in found] == [("read", "x_ptr"), ("write", "out_ptr")]
    assert "through out_ptr" in who_text(found)


def test_an_atomic_on_one_element_has_all_its_lanes() -> None:
    found = told(launched(kernels.lanes, np.zeros(10, np.int32), N=8), "out_ptr", (1,))
    (only,) = found
    assert (only.op, only.lane_count, only.lanes) == (
        "atomic_add", 4, ((1,), (3,), (5,), (7,)),
    )  # fmt: skip
    assert (only.before, only.after, only.wrote) == (0, 20, True)


def test_a_compare_and_swap_that_failed_did_not_write() -> None:
    flag, out = np.zeros(1, np.int32), np.zeros(2, np.float32)
    found = accesses(launched(others.handshake, flag, out, grid=(2,)), "flag_ptr", (0,))
    assert [(a.op, a.sem) for a in found][-2:] == [
        ("atomic_xchg", "release"), ("atomic_add", "acquire"),
    ]  # fmt: skip
    assert {a.program for a in found} == {(0, 0, 0), (1, 0, 0)}


def test_the_order_is_that_of_the_seed() -> None:
    launch = launched(kernels.one_counter, np.zeros(1, np.int32), np.ones(1, np.int32), grid=(6,))
    plain = [a.program[0] for a in accesses(launch, "count_ptr", (0,))]
    back = [a.program[0] for a in accesses(launch, "count_ptr", (0,), seed=1)]
    mixed = [a.program[0] for a in accesses(launch, "count_ptr", (0,), seed=7)]
    assert plain == [0, 1, 2, 3, 4, 5] and back == plain[::-1]
    assert sorted(mixed) == plain and mixed not in (plain, back)


def test_orders_are_the_same_without_the_grid_machine(by_steps: None) -> None:
    launch = launched(kernels.one_counter, np.zeros(1, np.int32), np.ones(1, np.int32), grid=(6,))
    with pytest.MonkeyPatch.context() as undone:
        undone.setattr(asking, "heard", candidates.heard)
        wanted = [a.program for a in accesses(launch, "count_ptr", (0,), seed=7)]
    assert [a.program for a in accesses(launch, "count_ptr", (0,), seed=7)] == wanted


def test_of_very_many_accesses_the_first_and_last_are_kept() -> None:
    grid = 1 << 18
    launch = launched(
        kernels.one_counter, np.zeros(1, np.int32), np.ones(1, np.int32), grid=(grid,)
    )
    found = accesses(launch, "count_ptr", (0,))
    assert (found.count, found.end) == (grid, grid)
    assert len(found) <= 1024 and found.left_out == grid - len(found)
    for a in (found[0], found[-1]):
        assert a.number == a.program[0] == a.before and a.after == a.number + 1
    assert f"... {grid - 20} more" in who_text(found)
    reads = accesses(launch, "x_ptr", (0,))
    assert (reads.count, reads[-1].program) == (grid, (grid - 1, 0, 0))


def test_the_last_of_very_many_writers_is_blamed() -> None:
    grid = 1 << 16
    launch = launched(
        kernels.one_counter, np.zeros(1, np.int32), np.ones(1, np.int32), grid=(grid,)
    )
    chain = blame(launch, "count_ptr", (0,))
    assert (chain.value, chain.program) == (grid, (grid - 1, 0, 0))
    updates = [link for link in chain.head.walk() if link.op == "atomic_add"]
    assert [int(u.value) for u in updates[:3]] == [grid, grid - 1, grid - 2]
    assert chain.more == 1 and all(
        link.note != "host" for link in chain.head.walk() if link.op == "memory"
    )


@pytest.mark.parametrize("seed", [0, 3])
def test_an_answer_may_be_about_a_launch_of_dependent_instances(seed: int) -> None:
    x = np.zeros(5, np.int32)
    found = accesses(launched(kernels.relay, x, grid=(4,)), "x_ptr", (2,), seed=seed)
    assert {a.kind for a in found} == {"read", "write"} and found.count == 2


def test_the_map_says_who_wrote_what() -> None:
    x = np.ones(8, np.float32)
    launch = launched(kernels.chosen, x, x.copy(), x.copy(), 7, 0.5, grid=(2,), BLOCK=4)
    assert writers(launch, "out_ptr").tolist() == [0, 0, 0, 0, 1, 1, 1, -1]
    found = memory_map(launch, "x_ptr")
    assert found.writers.tolist() == [-1] * 8 and found.reads.tolist() == [1] * 7 + [0]


def test_the_map_is_the_same_without_the_grid_machine(by_steps: None) -> None:
    x = np.ones(8, np.float32)
    launch = launched(kernels.chosen, x, x.copy(), x.copy(), 7, 0.5, grid=(2,), BLOCK=4)
    assert writers(launch, "out_ptr").tolist() == [0, 0, 0, 0, 1, 1, 1, -1]
    assert memory_map(launch, "x_ptr").reads.tolist() == [1] * 7 + [0]


def test_the_map_has_the_argument_s_shape_and_strides() -> None:
    memory = np.zeros((4, 8), np.float32)
    launch = launched(kernels.logs, np.ones(4, np.float32), memory[1, ::-2], BLOCK=4)
    assert writers(launch, "out_ptr").shape == (4,)
    chain = blame(
        launched(kernels.logs, np.ones(8, np.float32), memory, BLOCK=8), "out_ptr", (0, 3)
    )
    assert chain.program == (0, 0, 0)


def test_racing_instances_are_mapped_in_the_order_of_the_step_machine() -> None:
    launch = launched(others.total, np.zeros(1, np.int32), grid=(4,))
    assert writers(launch, "x_ptr").tolist() == [3]
    assert [a.kind for a in told(launch, "x_ptr", (0,))] == ["read", "write"] * 4
