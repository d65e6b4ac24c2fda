"""`verify`: what each rung says of clean launches, and that memory is as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.compiler.emit import emit
from blockstep.language.function import current_launcher, launching
from blockstep.runtime.ladder import Launch, Ran, Rule, Status, Verifier, compiling, verify
from tests.ladder import kernels
from tests.ladder.launches import small, zeros


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + tl.load(y_ptr + offs, mask=mask), mask=mask)


@triton.jit
def softmax(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + offs, e / tl.sum(e, axis=0))


@triton.jit
def ticket(counter_ptr, out_ptr):
    at = tl.atomic_add(counter_ptr, 1)
    tl.store(out_ptr + at, tl.program_id(0))


@triton.jit
def through_table(table_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x_ptr = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    x = tl.load(x_ptr + offs)
    tl.store(x_ptr + offs, x + 1.0)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + offs, x)


def test_an_exact_kernel_is_equal_on_every_rung() -> None:
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    found = verify(add, (x, y, np.zeros(1000, np.float32), 1000), grid=(8,), BLOCK=128)
    assert found.passed, str(found)
    assert {o.status for o in found.outcomes[:-1]} == {Status.EQUAL, Status.SAME}
    names = [o.rung for o in found.outcomes]
    assert names[:3] == ["step", "grid", "after inline"]
    assert names[-3:] == ["ptx, exact", "ptx", "gpu"]


def test_without_a_device_the_last_rung_says_so() -> None:
    x = np.zeros(128, np.float32)
    found = verify(add, (x, x, np.zeros(128, np.float32), 128), grid=(1,), BLOCK=128)
    assert found.outcome("gpu").status is Status.NOT_RUN
    assert found.outcome("gpu").text == "no GPU"


def test_an_approximate_function_is_within_its_bound() -> None:
    x = np.random.default_rng(0).normal(size=(4, 256)).astype(np.float32)
    found = verify(softmax, (x, np.zeros_like(x)), grid=(4,), BLOCK=256)
    assert found.passed, str(found)
    assert found.outcome("ptx").status is Status.WITHIN
    assert found.outcome("ptx").ulps > 0


def test_arguments_are_as_they_were() -> None:
    x, out = np.arange(256, dtype=np.float32), np.full(256, 7, np.float32)
    verify(add, (x, x, out, 256), grid=(2,), BLOCK=128)
    assert (out == 7).all() and (x == np.arange(256)).all()


def test_memory_behind_a_table_of_addresses_is_put_back() -> None:
    parts = [np.full(64, i, np.float32) for i in range(3)]
    table = np.array([p.ctypes.data for p in parts], np.int64)
    found = verify(through_table, (table, np.zeros((3, 64), np.float32)), grid=(3,), BLOCK=64)
    assert found.outcome("ptx").status is Status.EQUAL, str(found)
    assert all((p == i).all() for i, p in enumerate(parts))


def test_what_order_decides_is_compared_as_a_set() -> None:
    counter, out = np.zeros(1, np.int32), np.zeros(64, np.int32)
    found = verify(ticket, (counter, out), grid=(64,))
    assert found.passed, str(found)


def test_views_of_one_array_keep_their_places() -> None:
    x = np.arange(512, dtype=np.float32)
    found = verify(add, (x[:256], x[:256], x[256:], 256), grid=(2,), BLOCK=128)
    assert found.passed, str(found)


def test_strided_rows_are_compared_by_element() -> None:
    out: Any = np.zeros((4, 300), np.float32)[:, :256]
    x = np.random.default_rng(1).normal(size=(4, 256)).astype(np.float32)
    found = verify(softmax, (x, out.reshape(-1)[: 4 * 256]), grid=(4,), BLOCK=256)
    assert found.passed, str(found)


@triton.jit
def promised(x_ptr):
    tl.device_assert(tl.load(x_ptr) > 0, "no")
    tl.store(x_ptr, 2)


def test_a_kernel_whose_own_assertion_fails_is_not_run() -> None:
    found = verify(promised, (np.zeros(1, np.int32),), grid=(1,), debug=True)
    assert found.finding is None and not found.passed
    assert "the kernel itself ends in DeviceAssertionError" in found.outcome("step").text


def test_a_race_of_the_source_is_no_finding_of_the_compiler() -> None:
    x = np.arange(512, dtype=np.float32)
    found = verify(add, (x[:256], x[1:257], x[256:], 256), grid=(2,), BLOCK=128)
    assert found.finding is None and not found.passed
    assert "the source has an error" in str(found) and "race" in str(found)


@triton.jit
def above(x_ptr, out_ptr, limit, BLOCK: tl.constexpr):
    total = tl.sum(tl.load(x_ptr + tl.arange(0, BLOCK)), axis=0)
    tl.store(out_ptr, total)
    tl.store(out_ptr + 1, (total > limit).to(tl.float32))


def test_a_decision_within_the_error_is_undecided_and_no_pass() -> None:
    for seed in range(40):
        x = np.random.default_rng(seed).normal(size=1024).astype(np.float32)
        out = np.zeros(2, np.float32)
        with triton.machine("step"):
            above[(1,)](x, out, 0.0, BLOCK=1024)
        found = verify(above, (x, np.zeros(2, np.float32), float(out[0])), grid=(1,), BLOCK=1024)
        outcome = found.outcomes[-2]
        if outcome.status is Status.UNDECIDED:
            break
    assert outcome.status is Status.UNDECIDED and outcome.undecided == 1
    assert not found.passed and not found.disagrees
    assert all("1 element differs on the rung `ptx" in f.message for f in found.findings)
    assert len(found.findings) == sum(o.undecided for o in found.outcomes)


def test_a_kernel_that_prints_is_run_on_the_grid_machine_all_the_same(capsys: Any) -> None:
    x = np.arange(64, dtype=np.float32)
    found = verify(printing, (x, np.zeros(64, np.float32)), grid=(1,), BLOCK=64)
    assert found.passed, str(found)
    assert capsys.readouterr().out == ""


@triton.jit
def printing(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.device_print("x", x)
    tl.store(out_ptr + offs, x + x)


def test_an_error_of_the_kernel_itself_ends_the_climb() -> None:
    x = np.arange(64, dtype=np.float32)
    found = verify(add, (x, x, np.zeros(1 << 10, np.float32), 1 << 20), grid=(8,), BLOCK=4096)
    assert [o.rung for o in found.outcomes] == ["step"]
    assert "the kernel itself ends in" in str(found) and not found.passed


def test_a_rung_of_another_maker_is_climbed_last() -> None:
    class Wrong:
        name, rule = "other", Rule.FAST

        def run(self, launch: Launch) -> Ran:
            launch.bound.by_name["out_ptr"].value[3] = 77
            return Ran()

    x = np.ones(64, np.float32)
    found = verify(add, (x, x, np.zeros(64, np.float32), 64), grid=(1,), rungs=[Wrong()], BLOCK=64)
    assert found.first_wrong is not None and found.first_wrong.rung == "other"
    assert "the rung `other` leaves out_ptr" in str(found.finding)


@triton.jit
def asserting(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.device_assert(x >= 0, "not negative")
    tl.store(out_ptr + offs, x)


def test_an_assertion_that_fails_is_the_kernels_own_error() -> None:
    x = np.arange(-3, 61, dtype=np.float32)
    found = verify(asserting, (x, np.zeros(64, np.float32)), grid=(1,), BLOCK=64, debug=True)
    assert "the kernel itself ends in DeviceAssertionError" in str(found)


def test_an_assertion_that_holds_is_no_memory_of_the_kernel() -> None:
    x = np.arange(64, dtype=np.float32)
    found = verify(asserting, (x, np.zeros(64, np.float32)), grid=(1,), BLOCK=64, debug=True)
    assert found.passed, str(found)


def test_memory_that_only_a_later_rung_reaches_is_to_stay_as_it_was() -> None:
    other = np.zeros(16, np.float32)

    class Stray:
        name, rule = "stray", Rule.FAST

        def run(self, launch: Launch) -> Ran:
            assert launch.bound.space.find(other.ctypes.data) is not None
            other[5] = 1
            return Ran()

    x = np.ones(64, np.float32)
    found = verify(add, (x, x, np.zeros(64, np.float32), 64), grid=(1,), rungs=[Stray()], BLOCK=64)
    assert found.first_wrong is not None and found.first_wrong.rung == "stray"
    assert other[5] == 0


def test_the_same_kernel_is_compiled_once_by_one_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    def emitted(text: str, *rest: Any, **named: Any) -> str:
        counted.append(text)
        return emit(text, *rest, **named)

    monkeypatch.setattr(compiling, "emit", emitted)
    verifier = Verifier(runs=False, before=current_launcher())
    with launching(verifier):
        for first in (0.0, 1.0, 2.0):
            x, out = np.arange(256, dtype=np.float32) + first, np.zeros(256, np.float32)
            add[(2,)](x, x, out, 256, BLOCK=128)
        add[(2,)](x, x, out, 256, BLOCK=64)
    assert all(found.passed for found in verifier.climbs)
    assert len(counted) == 4  # exact and fast, of two kernels


class Reversed:
    """Program instances draw their tickets from the last to the first; `lost` of them draw none."""

    name, rule = "reversed", Rule.FAST

    def __init__(self, lost: int = 0) -> None:
        self.lost = lost

    def run(self, launch: Launch) -> Ran:
        counter, out = (launch.bound.by_name[n].value for n in ("counter_ptr", "out_ptr"))
        counter[0] = 64
        out[self.lost :] = np.arange(64, dtype=np.int32)[::-1][self.lost :]
        return Ran()


def test_tickets_in_another_order_are_the_same_set() -> None:
    arguments = np.zeros(1, np.int32), np.zeros(64, np.int32)
    found = verify(ticket, arguments, grid=(64,), rungs=[Reversed()])
    assert found.outcome("reversed").status is Status.ORDERED and found.passed, str(found)
    assert "`out_ptr`: 64 elements compared as a set" in str(found)


def test_tickets_that_are_no_such_set_are_no_pass() -> None:
    arguments = np.zeros(1, np.int32), np.zeros(64, np.int32)
    found = verify(ticket, arguments, grid=(64,), rungs=[Reversed(lost=9)])
    outcome = found.outcome("reversed")
    assert outcome.status is Status.UNDECIDED and outcome.ordered > 0
    assert not found.passed


def test_without_a_bound_a_kernel_with_one_result_must_keep_its_bits() -> None:
    class OneOff:
        name, rule = "one off", Rule.EXACT

        def run(self, launch: Launch) -> Ran:
            rows = launch.bound.by_name["out_ptr"].value
            rows[...] = np.arange(3, dtype=np.float32)[:, None]
            parts = launch.bound.by_name["table_ptr"].value
            for number, address in enumerate(parts.tolist()):
                storage = launch.bound.space.find(address)
                assert storage is not None
                storage.data.view(np.float32)[:] = number + 1
            rows[2, 3] = np.nextafter(np.float32(2), np.float32(3))
            return Ran()

    parts = [np.full(64, i, np.float32) for i in range(3)]
    table = np.array([p.ctypes.data for p in parts], np.int64)
    arguments = table, np.zeros((3, 64), np.float32)
    found = verify(through_table, arguments, grid=(3,), rungs=[OneOff()], BLOCK=64)
    assert found.first_wrong is not None and found.first_wrong.rung == "one off", str(found)
    assert found.first_wrong.mismatch is not None
    assert found.first_wrong.mismatch.element == (2, 3)


def test_a_load_that_the_order_of_a_sum_decides_is_no_load_beyond_the_source() -> None:
    found = verify(kernels.guarded_by_a_sum, (small(64), zeros(64)), grid=(1,), BLOCK=32)
    assert not found.disagrees, str(found)


def test_infinities_that_meet_in_a_sum_of_any_order_are_undecided() -> None:
    sums = np.array([-np.inf, np.inf, 1.0])
    found = verify(kernels.sum_that_overflows, (sums,), grid=(3,), BLOCK=256)
    assert not found.disagrees, str(found)
    assert found.outcome("ptx").status is Status.UNDECIDED


def test_code_that_a_false_promise_made_is_not_run() -> None:
    found = verify(kernels.false_promise, (zeros(64), 5), grid=(4,), BLOCK=32)
    outcome = found.outcome("ptx, exact")
    assert outcome.status is Status.UNJUDGED and "hint" in outcome.text


@pytest.mark.parametrize("warps", [1, 4])
def test_a_barrier_orders_what_several_lanes_of_a_warp_have_read(warps: int) -> None:
    arguments = (small(64),)
    found = verify(
        kernels.overwritten_in_place, arguments, grid=(1,), BLOCK=64, num_warps=warps, arch="sm80"
    )
    assert not found.disagrees, str(found)
