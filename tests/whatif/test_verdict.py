"""Drift or bug: a reference that rounding explains, one that it does not, and what nobody can say."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.diagnostics.decisions import verdict_text
from blockstep.runtime.precision import Verdict
from tests.whatif import kernels
from tests.whatif.taken import Array, normal


def judged(kernel: Any, args: Any, reference: Array, name: str = "o", **named: Any) -> Verdict:
    report = triton.precision(kernel, args, grid=(1,), reference={name: reference}, **named)
    (verdict,) = report.verdicts
    return verdict


def product(reference: Any, dtype: Any = np.float32) -> Verdict:
    a, b = normal(16, 16), normal(16, 16, seed=1)
    right = a.astype(np.float64) @ b.astype(np.float64)
    c = np.zeros((16, 16), dtype)
    return judged(kernels.product, (a, b, c), reference(right), "c", N=16)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_tf32_against_a_right_product_of_any_format_is_drift(dtype: Any) -> None:
    found = product(lambda right: right.astype(dtype))
    assert (found.answer, found.outside) == ("drift", 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, ml_dtypes.bfloat16])
def test_one_element_of_another_product_is_a_bug(dtype: Any) -> None:
    def wrong(right: Array) -> Array:
        right[3, 4] += 0.5
        return right.astype(dtype)

    found = product(wrong)
    assert (found.answer, found.outside, found.index) == ("bug", 1, (3, 4))
    assert found.reference > found.high >= found.shadow >= found.low
    assert "c[3, 4]" in " ".join(verdict_text(found))


def test_a_long_bfloat16_sum_that_stands_still_is_drift() -> None:
    x = np.ones((1024, 8), np.float32)
    found = judged(
        kernels.running, (x, np.zeros(8, np.float32), 1024), np.full(8, 1024.0), N=8, T=tl.bfloat16
    )
    assert (found.answer, found.value, found.reference) == ("drift", 256.0, 1024.0)


def test_half_of_such_a_sum_is_between_and_twice_of_it_is_a_bug() -> None:
    x = np.ones((1024, 8), np.float32)
    args = (x, np.zeros(8, np.float32), 1024)
    twice = judged(kernels.running, args, np.full(8, 2048.0), N=8, T=tl.bfloat16)
    assert twice.answer == "bug"


def test_the_kernels_own_values_are_equal() -> None:
    x = normal(16)
    found = judged(kernels.copy, (x, np.zeros(16, np.float16)), x.astype(np.float16), N=16)
    assert (found.answer, found.differ) == ("equal", 0)


def test_a_format_that_overflows_is_drift_and_no_bug() -> None:
    x = np.full(16, 7e4, np.float32)
    found = judged(kernels.copy, (x, np.zeros(16, np.float16)), x, N=16)
    assert (found.answer, found.value) == ("drift", np.inf)


def test_what_a_comparison_within_its_error_decides_is_undecided() -> None:
    x = np.full(16, 2.0**-25, np.float32)  # 1 + x is 1 in float32
    args = (x, np.zeros(16, np.float32))
    assert judged(kernels.chosen, args, np.full(16, 0.0), N=16).answer == "equal"
    assert judged(kernels.chosen, args, np.full(16, 5.0), N=16).answer == "drift"
    found = judged(kernels.chosen, args, np.full(16, 7.0), N=16)
    assert (found.answer, found.undecided) == ("undecided", 16)
    assert "a decision lies within" in " ".join(" ".join(verdict_text(found)).split())


def test_far_from_a_decision_another_choice_is_a_bug() -> None:
    x = np.full(16, 0.5, np.float32)
    found = judged(kernels.chosen, (x, np.zeros(16, np.float32)), np.full(16, 0.0), N=16)
    assert (found.answer, found.outside) == ("bug", 16)


def test_a_reference_of_another_shape_is_refused() -> None:
    x = normal(16)
    with pytest.raises(ValueError, match=r"has the shape \[8\], not \[16\]"):
        judged(kernels.copy, (x, np.zeros(16, np.float16)), x[:8], N=16)


def test_a_reference_for_no_output_is_refused() -> None:
    x = normal(16)
    with pytest.raises(KeyError, match="writes no floats to `q`"):
        judged(kernels.copy, (x, np.zeros(16, np.float16)), x, "q", N=16)
