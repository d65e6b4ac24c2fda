"""The derived bound: exact where arithmetic is, wide enough for every legal execution, narrow enough
for planted faults, and undecided or ordered where it must not decide."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import blockstep.language as tl
from blockstep.interp.bounds.ranges import widened
from tests.interp import bound_kernels as kernels
from tests.interp.bounding import bounded, step, varied

F16, F32 = np.float16, np.float32
LEGAL = 8  # variations that are tried


def normal(*shape: int, seed: int = 0, dtype: Any = F32) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def whole(*shape: int, seed: int = 0, dtype: Any = F16, most: int = 3) -> Any:
    return np.random.default_rng(seed).integers(-most, most + 1, shape).astype(dtype)


def ratio(kernel: Any, grid: Any, arguments: tuple[Any, ...], out: str, **named: Any) -> float:
    """The median over elements of the bound and of the largest difference among legal executions."""
    bounds = bounded(kernel, grid, *arguments, **named)[out]
    value = widened(bounds.value, bounds.kind)
    reach, worst = np.maximum(bounds.high - value, value - bounds.low), np.zeros(value.shape)
    for seed in range(LEGAL):
        found = varied(kernel, grid, *arguments, seed=seed, **named).array(out)
        verdict = bounds.judge(found)
        assert verdict.passed, (seed, verdict)
        worst = np.maximum(worst, np.abs(widened(found, bounds.kind) - value))
    moved = worst > 0
    assert moved.any()
    return float(np.median(reach[moved] / worst[moved]))


# Not vacuous. `chain` is the depth of a tree over 32 lanes; with any tree the bound is about n / 2
# units of every sum, where random roundings cancel to about the square root of that.

X, OUT = normal(8, 1024), np.zeros((8, 1024), F32)
NORM = (X, normal(1024, seed=1), normal(1024, seed=2), OUT, 1024, 1e-5)
MATRICES = (normal(64, 256, dtype=F16), normal(256, 64, seed=1, dtype=F16))
MATMUL = (*MATRICES, np.zeros((64, 64), F16), 64, 64, 256)
PLAIN: dict[str, Any] = {"BM": 32, "BN": 32, "BK": 64, "ACC": tl.float32, "FAULT": ""}
HEADS = tuple(normal(256, 64, seed=s, dtype=F16) for s in range(3))
ATTENTION = (*HEADS, np.zeros((256, 64), F32), 256, 0.125 * 1.44269504)
BLOCKS: dict[str, Any] = {"D": 64, "BM": 64, "BN": 64, "ACC": tl.float32, "FAULT": ""}


@pytest.mark.parametrize(
    ("chain", "most"),
    [(None, 500), (62, 60)],
)
def test_softmax_is_bounded_closely(chain: int | None, most: float) -> None:
    arguments = (X, OUT, 1024)
    assert ratio(kernels.softmax, (8,), arguments, "out", BLOCK=1024, chain=chain) < most


@pytest.mark.parametrize(
    ("chain", "most"),
    [(None, 900), (62, 130)],
)
def test_layer_norm_is_bounded_closely(chain: int | None, most: float) -> None:
    assert ratio(kernels.layer_norm, (8,), NORM, "out", BLOCK=1024, chain=chain) < most


def test_a_product_is_bounded_closely() -> None:
    assert ratio(kernels.matmul, (2, 2), MATMUL, "c", **PLAIN) < 20


def test_attention_is_bounded() -> None:
    # all scores are off to the worst side at once, of 256 keys that would cancel
    assert ratio(kernels.attention, (4,), ATTENTION, "out", **BLOCKS) < 3000


# Planted faults


@pytest.mark.parametrize("fault", ["swap", "drop"])
def test_a_fault_in_a_product_is_wrong(fault: str) -> None:
    bounds = bounded(kernels.matmul, (2, 2), *MATMUL, **PLAIN)
    found = step(kernels.matmul, (2, 2), *MATMUL, **{**PLAIN, "FAULT": fault})[2]
    assert bounds.judge("c", found).wrong > 3500
    good = step(kernels.matmul, (2, 2), *MATMUL, **PLAIN)[2]
    assert bounds.judge("c", good).equal == good.size


@pytest.mark.parametrize("where", ["c", "out"])
def test_sums_in_bfloat16_are_wrong(where: str) -> None:
    arguments: tuple[Any, ...]
    kernel, grid, arguments, options = (
        (kernels.matmul, (2, 2), (*MATRICES, np.zeros((64, 64), F32), 64, 64, 256), PLAIN)
        if where == "c" else (kernels.attention, (4,), ATTENTION, BLOCKS)
    )  # fmt: skip
    bounds = bounded(kernel, grid, *arguments, **options)
    narrow = step(kernel, grid, *arguments, **{**options, "ACC": tl.bfloat16})
    found = narrow[2 if where == "c" else 3]
    assert bounds.judge(where, found).wrong > found.size // 3


@pytest.mark.parametrize("fault", ["swap", "drop"])
def test_a_fault_in_attention_is_wrong(fault: str) -> None:
    bounds = bounded(kernels.attention, (4,), *ATTENTION, **BLOCKS)
    found = step(kernels.attention, (4,), *ATTENTION, **{**BLOCKS, "FAULT": fault})[3]
    assert bounds.judge("out", found).wrong > found.size * 0.9


def test_two_elements_exchanged_are_wrong_and_the_first_is_named() -> None:
    bounds = bounded(kernels.softmax, (8,), X, OUT, 1024, BLOCK=1024)
    found = step(kernels.softmax, (8,), X, OUT, 1024, BLOCK=1024)[1]
    found[3, [7, 8]] = found[3, [8, 7]]
    verdict = bounds.judge("out", found)
    assert (verdict.wrong, verdict.equal) == (2, found.size - 2)
    assert verdict.first is not None
    assert (verdict.first.index, verdict.first.found) == ((3, 7), found[3, 7])
    assert verdict.first.low <= verdict.first.expected <= verdict.first.high
    assert not verdict.passed


# Exact arithmetic is compared bit for bit


def test_whole_numbers_leave_no_room() -> None:
    arguments = (whole(64, 256), whole(256, 64, seed=1), np.zeros((64, 64), F32), 64, 64, 256)
    bounds = bounded(kernels.matmul, (2, 2), *arguments, **PLAIN)
    nonzero = bounds["c"].value != 0
    assert bounds["c"].certain[nonzero].all()
    found = np.nextafter(bounds["c"].value, F32(np.inf))
    assert bounds.judge("c", found).wrong == found.size


@pytest.mark.parametrize("kind", [F32, np.float64, F16])
def test_sums_of_whole_numbers_are_certain(kind: Any) -> None:
    x = whole(4, 64, dtype=kind)
    assert bounded(kernels.row_sum, (4,), x, np.zeros(4, kind), BLOCK=64)["out"].certain.all()
    x[0, 0] = 0.1
    certain = bounded(kernels.row_sum, (4,), x, np.zeros(4, kind), BLOCK=64)["out"].certain
    assert certain.tolist() == [False, True, True, True]


def test_one_more_bit_than_fits_is_not_certain() -> None:
    x = np.ones((2, 4), F32)
    x[:, 0] = 2.0**24 - 3, 2.0**24 - 2
    certain = bounded(kernels.row_sum, (2,), x, np.zeros(2, F32), BLOCK=4)["out"].certain
    assert certain.tolist() == [True, False]


def test_a_fused_product_may_keep_what_it_loses_alone() -> None:
    x = np.full(4, 1 + 2.0**-12, F32)
    z = np.full(4, -1.0, F32)
    arguments = (x, x, z, np.zeros(4, F32))
    fused = F32(2.0**-11 + 2.0**-24)
    bounds = bounded(kernels.multiply_add, (1,), *arguments, BLOCK=4)
    assert bounds.judge("out", np.full(4, fused)).within == 4
    assert bounds.judge("out", np.full(4, F32(2.0**-11 + 2.0**-23))).wrong == 4
    exact = bounded(kernels.multiply_add, (1,), *arguments, BLOCK=4, exact=True)
    assert exact.judge("out", np.full(4, fused)).wrong == 4


@pytest.mark.parametrize("kind", [F32, np.float64])
def test_a_recurrence_is_bounded_in_any_tree(kind: Any) -> None:
    a, x = normal(64, dtype=kind), normal(64, seed=1, dtype=kind)
    arguments = (a, x, np.zeros(64, kind))
    bounds = bounded(kernels.linear_recurrence, (1,), *arguments, BLOCK=64)
    for seed in range(LEGAL):
        found = varied(kernels.linear_recurrence, (1,), *arguments, seed=seed, BLOCK=64)
        assert bounds.judge("out", found.array("out")).passed
    value = bounds["out"].value
    assert bounds.judge("out", value + kind(1e-3) * np.abs(value).max()).wrong > 50


# Undecided, ordered


def test_a_tie_within_the_bound_is_undecided() -> None:
    x = np.zeros((2, 8), F32)
    y = np.array([1, 2, 3, 4, 5, 6, 7, 7], F32)
    x[1] = 0.5
    y[7] = np.nextafter(F32(7), F32(8))
    bounds = bounded(kernels.argmax_rows, (2,), x, y, np.zeros(2, np.int32), 8, BLOCK=8)
    verdict = bounds.judge("at", np.array([6, 6], np.int32))
    assert (verdict.undecided, verdict.wrong, verdict.passed) == (2, 0, False)
    y[7] = 8
    bounds = bounded(kernels.argmax_rows, (2,), x, y, np.zeros(2, np.int32), 8, BLOCK=8)
    assert bounds.judge("at", np.array([6, 7], np.int32)).wrong == 1


def test_a_branch_within_the_bound_is_undecided() -> None:
    x = np.array([0.0, 3.0], F32)
    launch = kernels.branch, (2,), x, np.zeros(2, F32)
    assert bounded(*launch, LIMIT=1.0)["out"].undecided.all()
    assert bounded(*launch, LIMIT=2.0)["out"].certain.all()


def test_a_cast_within_the_bound_is_undecided() -> None:
    x = np.log(np.array([2.0, 2.5, 3.0, 3.5])).astype(F32)
    bounds = bounded(kernels.to_integers, (1,), x, np.zeros(4, np.int32), BLOCK=4)
    assert bounds["out"].undecided.tolist() == [True, False, True, False]


def test_a_choice_between_values_that_meet_is_no_jump() -> None:
    x = np.zeros(4, F32)
    y = np.array([1.0, 1.0, 0.5, 2.0], F32)
    bounds = bounded(kernels.relu_of_difference, (1,), x, y, np.zeros(4, F32), BLOCK=4)["out"]
    assert not bounds.undecided.any()
    assert bounds.judge(np.array([2.0**-24, 0, 0.5, 0], F32)).passed
    assert bounds.judge(np.array([2.0**-20, 0, 0.5, 0], F32)).wrong == 1


def test_atomic_sums_hold_in_any_order_of_instances() -> None:
    x, zero = normal(32, 16), np.zeros(16, F32)
    bounds = bounded(kernels.column_sums, (32,), x, zero, 16, BLOCK=16)
    backward = np.zeros(16, F32)
    for row in x[::-1]:
        backward += row
    verdict = bounds.judge("out", backward)
    assert verdict.within > 0 and verdict.passed
    assert bounds.judge("out", backward + F32(1e-3)).wrong == 16
    counts = whole(32, 16, dtype=F32)
    assert bounded(kernels.column_sums, (32,), counts, zero, 16, BLOCK=16)["out"].certain.all()


def test_the_sign_of_a_nan_leaves_an_atomic_minimum_undecided() -> None:
    x, out = np.array([np.nan, 1, 1], F32), np.array([2, np.nan, 2], F32)
    bounds = bounded(kernels.least, (3,), x, out, BLOCK=1)["out"]
    assert bounds.undecided.tolist() == [True, True, False]


def test_one_lane_in_doubt_leaves_the_element_of_several_undecided() -> None:
    x, out = np.array([0, 5, 5, 0, 5, 5, 5, 5], F32), np.zeros(4, np.int32)
    bounds = bounded(kernels.whole_parts, (1,), x, out, BLOCK=8)["out"]
    assert bounds.undecided.tolist() == [True, True, False, False]


def test_a_fast_library_function_of_a_subnormal_number_is_undecided() -> None:
    x, y = np.full(2, 2.0**-126, F32), np.array([2.0**-127, 2.0**-126], F32)
    bounds = bounded(kernels.lengths, (1,), x, y, np.zeros(2, F32), BLOCK=2)["out"]
    assert bounds.undecided.tolist() == [True, False]
    assert bounds.judge(np.full(2, 2.0**-126, F32)).wrong == 1


def test_a_whole_power_whose_products_leave_the_range_is_undecided() -> None:
    x, n = np.full(1, -2.3931623e-08, F32), np.full(1, -5, np.int32)
    bounds = bounded(kernels.whole_powers, (1,), x, n, np.zeros(1, F32), BLOCK=1, exact=True)
    assert bounds["out"].judge(np.full(1, -1.2739113e38, F32)).undecided == 1


def test_the_documented_error_counts_from_the_rounded_result() -> None:
    x = np.full(1, 0.40187111496925354, F32)  # 1.07 units from the truth, 1 from what is rounded
    bounds = bounded(kernels.less_one, (1,), x, np.zeros(1, F32), BLOCK=1)["out"]
    assert bounds.judge(np.full(1, 0.49461865425109863, F32)).within == 1
    assert bounds.judge(np.full(1, 0.4946185648441315, F32)).wrong == 1


def test_a_number_or_a_nan_by_what_a_subnormal_operand_counts_as_is_undecided() -> None:
    x, y = np.array([-(2.0**-127), -1, 2.0**-127], F32), np.array([np.inf] * 3, F32)
    out = np.zeros(3, F32)
    root = bounded(kernels.inverse_roots, (1,), np.pad(x, (0, 1)), np.zeros(4, F32), BLOCK=4)["out"]
    assert root.undecided.tolist() == [True, False, False, False]
    product = bounded(kernels.rounded_products, (1,), x[:2], y[:2], out[:2], BLOCK=2)["out"]
    assert product.undecided.tolist() == [True, False]
    exact = bounded(kernels.rounded_products, (1,), x[:2], y[:2], out[:2], BLOCK=2, exact=True)
    assert exact["out"].certain.all()


def test_what_tickets_decide_is_ordered() -> None:
    bounds = bounded(kernels.tickets, (4,), np.zeros(1, np.int32), np.zeros(4, np.int32))
    verdict = bounds.judge("out", np.array([3, 2, 1, 0], np.int32))
    assert (verdict.ordered, verdict.passed) == (4, False)


def test_nan_and_zeros_are_compared_as_bits_where_they_are_sure() -> None:
    x = np.array([np.nan, -0.0, 1.0, 2.0], F32)
    zero = np.array([1.0, -0.0, -0.0, -0.0], F32)
    arguments = (x, np.ones(4, F32), zero, np.zeros(4, F32))
    bounds = bounded(kernels.multiply_add, (1,), *arguments, BLOCK=4)
    good = np.array([np.nan, -0.0, 1.0, 2.0], F32)
    assert bounds.judge("out", good).equal == 4
    assert bounds.judge("out", np.array([1.0, 0.0, 1.0, 2.0], F32)).wrong == 2


def test_another_shape_or_type_is_refused() -> None:
    bounds = bounded(kernels.softmax, (8,), X, OUT, 1024, BLOCK=1024)
    with pytest.raises(TypeError, match="`out` is float32"):
        bounds.judge("out", OUT.astype(F16))
    with pytest.raises(TypeError, match="`out` is float32"):
        bounds.judge("out", OUT[0])


def test_the_arguments_are_not_written() -> None:
    out = np.zeros((8, 1024), F32)
    bounded(kernels.softmax, (8,), X, out, 1024, BLOCK=1024)
    assert not out.any()


def test_narrow_formats_are_judged() -> None:
    arguments = (
        *[m.astype(ml_dtypes.bfloat16) for m in MATRICES],
        np.zeros((64, 64), ml_dtypes.bfloat16),
    )
    launch = (kernels.matmul, (2, 2), *arguments, 64, 64, 256)
    bounds = bounded(*launch, **PLAIN)
    for seed in range(3):
        assert bounds.judge("c", varied(*launch, seed=seed, **PLAIN).array("c")).passed
    found = step(*launch, **{**PLAIN, "FAULT": "drop"})[2]
    assert bounds.judge("c", found).wrong > 3500
