"""What each decision of a kernel costs."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.diagnostics import source
from blockstep.diagnostics.decisions import fix, title
from blockstep.runtime.whatif.decisions import What
from blockstep.runtime.whatif.measuring import Cost, Measured, error_of, measure
from tests.whatif import kernels
from tests.whatif.taken import normal, repeated


def measured(kernel: Any, *args: Any, grid: Any = (1,), **named: Any) -> Measured:
    return measure(repeated(kernel, *args, grid=grid, **named))


def dearest(found: Measured) -> Cost:
    return found.costs[0]


def test_a_running_sum_in_bfloat16_is_the_dearest_decision() -> None:
    x = np.ones((1024, 8), np.float32)
    found = dearest(measured(kernels.running, x, np.zeros(8, np.float32), 1024, N=8, T=tl.bfloat16))
    assert found.decision.what is What.RUNNING
    assert found.decision.name == "total"
    assert found.before is not None and found.after is not None
    assert (found.before.greatest, found.after.greatest) == (1024 - 256, 0)
    assert found.share == 1.0
    assert fix(found.decision).startswith("total = tl.zeros(..., tl.float32)")


def test_tf32_is_measured_against_ieee_products() -> None:
    a, b = normal(16, 16), normal(16, 16, seed=1)
    costs = measured(kernels.product, a, b, np.zeros((16, 16), np.float32), N=16).costs
    assert costs[0].decision.what is What.TF32
    assert costs[0].share > 0.99
    assert 'input_precision="ieee"' in fix(costs[0].decision)


def test_no_tf32_is_found_where_ieee_was_asked_for() -> None:
    a, b = normal(16, 16), normal(16, 16, seed=1)
    c = np.zeros((16, 16), np.float32)
    costs = measured(kernels.product, a, b, c, N=16, PRECISION="ieee").costs
    assert What.TF32 not in {c.decision.what for c in costs}


def test_a_conversion_is_told_at_its_own_column() -> None:
    found = dearest(measured(kernels.narrowed, normal(16), np.zeros(16, np.float32), N=16))
    line = "    half = tl.load(x + i).to(tl.float16)"
    assert found.decision.what is What.CONVERSION
    assert found.decision.span.column == line.index("tl.load") + 1
    assert title(found.decision) == "`tl.load(x + i)` is rounded to fp16"


def test_atomics_on_a_narrow_array_are_told() -> None:
    x, o = np.ones((4096, 1), np.float32), np.zeros(1, np.float16)
    found = dearest(measured(kernels.gathered, x, o, grid=(4096,), N=1))
    assert found.decision.what is What.ATOMIC
    assert "`o`" in title(found.decision)


def test_an_output_of_a_narrow_format_is_told() -> None:
    found = dearest(measured(kernels.copy, normal(16), np.zeros(16, np.float16), N=16))
    assert (found.decision.what, found.decision.name) == (What.OUTPUT, "o")
    assert found.after is not None and found.after.greatest == 0


def test_a_reduction_names_what_is_summed() -> None:
    x = normal(4096).astype(np.float16)
    found = dearest(measured(kernels.summed, x, np.zeros(1, np.float32), N=4096))
    assert found.decision.what is What.REDUCTION
    assert ".to(tl.float32)" in fix(found.decision)


def test_infinity_that_float64_does_not_give_counts_before_any_error() -> None:
    x = np.full(16, 65536.0, np.float32)
    found = measured(kernels.copy, x, np.zeros(16, np.float16), N=16)
    assert found.errors["o"].overflowed == 16
    assert dearest(found).share == 1.0


def test_exact_arithmetic_has_no_costs() -> None:
    x = np.arange(16, dtype=np.float32)
    found = measured(kernels.copy, x, np.zeros(16, np.float16), N=16)
    assert found.exact and not found.costs


@pytest.mark.parametrize(
    ("found", "right", "kind", "ulps"),
    [
        (1.0, 1.0 + 2.0**-11, tl.float16, 0.5),
        (0.0, 2.0**-25, tl.float16, 0.5),  # of subnormals
        (448.0, 896.0, tl.float8e4nv, 7.0),
        (1.0, 1.0, tl.bfloat16, 0.0),
    ],
)
def test_errors_are_counted_in_units_of_the_last_place(
    found: float, right: float, kind: Any, ulps: float
) -> None:
    assert error_of(np.array([found]), np.array([right]), kind).ulps == ulps


def test_zero_instead_of_a_number_is_an_underflow() -> None:
    error = error_of(np.array([0.0, 0.0]), np.array([1e-30, 0.0]), tl.float16)
    assert error.underflowed == 1


def test_fast_code_is_measured_against_exact_code() -> None:
    x = np.linspace(60, 80, 64, dtype=np.float32)
    report = triton.precision(
        kernels.exponential, (x, np.zeros(64, np.float32)), grid=(1,), compiled=True, N=64
    )
    (fast,) = [c for c in report.costs if c.decision.what is What.FAST]
    assert fast.before is not None and fast.after is not None
    assert fast.after.rms < fast.before.rms
    assert "exp" in title(fast.decision)


def test_what_to_write_instead_leaves_the_source_as_it_is() -> None:
    a, b = normal(16, 16), normal(16, 16, seed=1)
    costs = measured(kernels.product, a, b, np.zeros((16, 16), np.float32), N=16).costs
    assert fix(costs[0].decision) == fix(costs[0].decision)
    call = source.call(costs[0].decision.span)
    assert call is not None and ast.unparse(call).endswith("input_precision=PRECISION)")
