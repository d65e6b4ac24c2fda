"""A launch that runs again with some roundings switched off."""

from __future__ import annotations

import numpy as np
import pytest

import blockstep as triton
from blockstep.ir import verify
from blockstep.language import types as ty
from blockstep.runtime.whatif.rewriting import widened
from blockstep.runtime.whatif.widening import NotWidened, Widening
from tests.whatif import kernels
from tests.whatif.taken import Array, launch_of, normal, repeated


def test_with_nothing_switched_off_every_bit_is_the_same() -> None:
    made = repeated(kernels.everything, normal(16), normal(16, seed=1), normal(16), N=16, TURNS=3)
    again = made.widened(Widening())
    assert np.array_equal(made.as_written()["o"], again["o"])


def test_a_widened_function_is_valid_ir() -> None:
    made = repeated(kernels.everything, normal(16), normal(16, seed=1), normal(16), N=16, TURNS=3)
    for kind in (ty.float32, ty.float64):
        verify(widened(made.function, made.at_least(kind)))


def test_in_float64_a_product_of_matrices_is_numpys() -> None:
    a, b = normal(16, 16), normal(16, 16, seed=1)
    right = repeated(kernels.product, a, b, np.zeros((16, 16), np.float16), N=16).in_double()
    assert np.allclose(right["c"], a.astype(np.float64) @ b, rtol=1e-14, atol=1e-14)


def test_in_float64_a_loop_carries_float64() -> None:
    x = normal(64, 8)
    made = repeated(kernels.running, x, np.zeros(8, np.float32), 64, N=8, T=triton.language.float16)
    wanted = x.astype(np.float64).sum(axis=0)
    assert np.allclose(made.in_double()["o"], wanted, rtol=1e-14, atol=1e-14)


def test_in_float64_a_literal_has_all_its_digits() -> None:
    x = np.array([3.0] * 16, np.float16)
    made = repeated(kernels.narrowed, x, np.zeros(16, np.float32), N=16)
    assert made.in_double()["o"][0] == pytest.approx(np.exp(3.0), rel=1e-15)


def test_the_memory_of_the_caller_stays_as_it_was() -> None:
    x, o = normal(16), normal(16, seed=2)
    before = o.copy()
    made = repeated(kernels.copy, x, o, N=16)
    made.as_written()
    made.in_double()
    assert np.array_equal(o, before)


def test_atomics_on_wider_memory_do_not_round_to_the_narrow_format() -> None:
    x, o = np.ones((4096, 1), np.float32), np.zeros(1, np.float16)
    made = repeated(kernels.gathered, x, o, grid=(4096,), N=1)
    assert made.as_written()["o"][0] == 2048  # 2048 + 1 is 2048 in float16
    assert made.widened(made.with_memory(Widening(), "o"))["o"][0] == 4096


def test_views_of_one_memory_widen_together() -> None:
    whole: Array = np.zeros(32, np.float16)
    made = repeated(kernels.copy, whole[:16], whole[16:], N=16)
    assert set(made.outputs) == {"x", "o"}


def test_memory_that_is_read_in_two_formats_is_refused() -> None:
    whole: Array = np.zeros(32, np.float32)
    with pytest.raises(NotWidened, match="two formats"):
        repeated(kernels.copy, whole[:16].view(np.float16)[:16], whole[16:], N=16)


def test_a_launch_that_has_integers_only_has_no_output_to_compare() -> None:
    x = np.arange(16, dtype=np.int32)
    assert repeated(kernels.copy, x, np.zeros(16, np.int32), N=16).outputs == {}


def test_only_a_share_of_the_instances_runs_where_that_is_asked_for() -> None:
    from blockstep.runtime.whatif.running import Repeated

    x, o = np.ones((64, 1), np.float32), np.zeros(1, np.float16)
    launch = launch_of(kernels.gathered, x, o, grid=(64,), N=1)
    assert 0 < Repeated(launch, share=0.25).as_written()["o"][0] < 64
