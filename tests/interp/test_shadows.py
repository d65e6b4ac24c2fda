"""Float64 shadows: the same on both machines, beside values that they do not change, and nothing said
where nothing was lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.interp.shadowed import both, captured, on_grid, on_step, plainly

rng = np.random.default_rng(6)


def row(found: Any, op: str, **more: Any) -> Any:
    """The record of an operation."""
    (one,) = [
        r for r in found.lines if r.op == op and all(getattr(r, k) == v for k, v in more.items())
    ]
    return one


@triton.jit
def softmax(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


def test_a_softmax_says_the_same_on_both_machines_and_nothing_special() -> None:
    x = rng.standard_normal((5, 50)).astype(np.float32)
    found = both(captured(softmax, (x, np.zeros_like(x), 50), (5,), BLOCK=64))
    for record in found.lines:
        assert not record.inf_born and not record.nan_born and not record.cancelled
        assert not record.underflowed, "exp(-inf) of the mask is zero in float64 too"
    assert found.outputs["out_ptr"].worst_ulps < 8


@triton.jit
def divide(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, 1.0 / tl.log(x), mask=at < n)


def test_lanes_that_nothing_defines_are_not_counted() -> None:
    x = rng.random(100, np.float32) + 2
    found = both(captured(divide, (x, np.zeros_like(x), 100), (2,), BLOCK=64))
    assert row(found, "fdiv").elements == 100
    assert not row(found, "log").inf_born and not row(found, "fdiv").inf_born


@triton.jit
def difference(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    tl.store(out_ptr + n, tl.load(x_ptr + n) - tl.load(y_ptr + n))


def test_an_exact_difference_of_nearly_equal_numbers_is_no_cancellation() -> None:
    x = rng.random(64, np.float32) + 1
    y = np.nextafter(x, np.float32(2))
    found = both(captured(difference, (x, y, np.zeros_like(x)), (1,), N=64))
    assert found.lines == ()
    assert found.outputs["out_ptr"].worst_ulps == 0


@triton.jit
def rounded_difference(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    x = tl.load(x_ptr + n)
    tl.store(out_ptr + n, (x + 1.0) - 1.0)


def test_a_difference_that_brings_an_error_forward_is_a_cancellation() -> None:
    x = np.linspace(1e-6, 2e-6, 64, dtype=np.float32)
    found = both(captured(rounded_difference, (x, np.zeros_like(x)), (1,), N=64))
    assert row(found, "sub").cancelled == 64
    assert row(found, "sub").introduced_ulps == 0
    assert row(found, "add").cancelled == 0


@triton.jit
def integers(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    x = tl.load(x_ptr + n)
    tl.store(out_ptr + n, tl.sum(x * 3 + 1, axis=0) + x)


@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_exact_arithmetic_gives_no_report(kind: Any) -> None:
    x = np.arange(64).astype(kind)
    assert both(captured(integers, (x, np.zeros_like(x)), (1,), N=64)).lines == ()


@triton.jit
def through_memory(x_ptr, half_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    tl.store(half_ptr + n, tl.exp(tl.load(x_ptr + n)).to(tl.float16))
    tl.debug_barrier()
    tl.store(out_ptr + n, tl.load(half_ptr + n).to(tl.float32))


def test_a_shadow_goes_through_memory() -> None:
    x = rng.random(32, np.float32)
    arrays = (x, np.zeros(32, np.float16), np.zeros(32, np.float32))
    found = both(captured(through_memory, arrays, (1,), N=32))
    right = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(found.outputs["out_ptr"].shadow, right, rtol=1e-14)
    assert found.outputs["out_ptr"].worst_ulps > 1000


@triton.jit
def overwritten(x_ptr, half_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    tl.store(half_ptr + n, tl.exp(tl.load(x_ptr + n)).to(tl.float16))
    tl.debug_barrier()
    bits = half_ptr.to(tl.pointer_type(tl.int16))
    tl.store(bits + 3, tl.full((), 0x3C00, tl.int16))
    tl.debug_barrier()
    tl.store(out_ptr + n, tl.load(half_ptr + n))


def test_bits_that_are_written_end_a_shadow() -> None:
    x = rng.random(32, np.float32) + 1
    arrays = (x, np.zeros(32, np.float16), np.zeros(32, np.float16))
    for run in (on_grid, on_step):
        shadow = run(captured(overwritten, arrays, (1,), N=32)).outputs["out_ptr"].shadow
        assert shadow[3] == 1.0
        assert abs(shadow[2] - np.exp(np.float64(x[2]))) < 1e-12


@triton.jit
def floors(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    x = tl.load(x_ptr + n)
    tl.store(out_ptr + n, tl.floor(x * 10.0) + (x * 10.0).to(tl.int32))


def test_whole_parts_are_decisions_and_no_errors() -> None:
    x = np.full(16, 0.7, np.float32)  # 6.999999880… in float64, and rounded to 7
    found = both(captured(floors, (x, np.zeros_like(x)), (1,), N=16))
    assert row(found, "floor").decided == 16 and row(found, "cast").decided == 16
    assert found.outputs["out_ptr"].worst_ulps == 0


@triton.jit
def half_sum(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    y = (tl.load(x_ptr + n) * 100.0).to(tl.float16)
    tl.store(out_ptr + n, y - y)


def test_an_overflow_is_told_where_it_begins_and_the_nan_after_it() -> None:
    x = np.array([1.0, 700.0, 800.0, 2.0], np.float32)
    found = both(captured(half_sum, (x, np.zeros(4, np.float32)), (1,), N=4))
    assert row(found, "cast", type="fp16").overflowed == 2
    nan = row(found, "sub")
    assert nan.nan_born == 2 and nan.nan.operands == (np.inf, np.inf)
    assert nan.overflowed == 0 and nan.inf_born == 0


@triton.jit
def product(a_ptr, b_ptr, out_ptr, K: tl.constexpr, HOW: tl.constexpr):
    m, k = tl.arange(0, 16), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * 16 + m[None, :])
    tl.store(out_ptr + m[:, None] * 16 + m[None, :], tl.dot(a, b, input_precision=HOW))


def test_tf32_is_named_and_ieee_is_not() -> None:
    a, b = (rng.random(s, np.float32) for s in ((16, 64), (64, 16)))
    lost = {}
    for how in ("tf32", "ieee"):
        launch = captured(product, (a, b, np.zeros((16, 16), np.float32)), (1,), K=64, HOW=how)
        dot = row(both(launch), "dot")
        lost[how] = dot.worst_ulps
        assert dot.rounded_inputs == ("tf32" if how == "tf32" else "")
        assert dot.introduced_ulps == dot.worst_ulps, "the operands are exact"
    assert lost["tf32"] > 50 * lost["ieee"]


@triton.jit
def running(x_ptr, out_ptr, N: tl.constexpr):
    acc = tl.zeros((16,), tl.bfloat16)
    for k in range(tl.program_id(0), N):
        acc += tl.load(x_ptr + k * 16 + tl.arange(0, 16)).to(tl.bfloat16)
    tl.store(out_ptr + tl.program_id(0) * 16 + tl.arange(0, 16), acc)


def test_loops_of_other_lengths_keep_their_shadows() -> None:
    import ml_dtypes

    x = rng.random((40, 16), np.float32)
    out = np.zeros((3, 16), ml_dtypes.bfloat16)
    found = both(captured(running, (x, out), (3,), N=40))
    right = np.stack([x[k:].astype(np.float64).sum(0) for k in range(3)])
    np.testing.assert_allclose(found.outputs["out_ptr"].shadow.reshape(3, 16), right, rtol=1e-12)
    assert row(found, "add").worst_ulps > 2


@triton.jit
def branches(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0)) / 3.0
    if x > 0.5:
        y = x * x
    else:
        y = x + 1.0
    tl.store(out_ptr + tl.program_id(0), y)


def test_branches_that_part_keep_their_shadows() -> None:
    x = rng.random(64, np.float32) * 3
    found = both(captured(branches, (x, np.zeros_like(x)), (64,), N=64))
    real = x.astype(np.float64) / np.float64(3)
    right = np.where((x / np.float32(3)) > 0.5, real * real, real + 1)
    np.testing.assert_allclose(found.outputs["out_ptr"].shadow, right, rtol=1e-15)


@triton.jit
def summed(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr, tl.sum(tl.load(x_ptr + at), axis=0))


def test_an_atomic_sum_has_a_shadow() -> None:
    x = rng.random(256, np.float32)
    found = both(captured(summed, (x, np.ones(1, np.float32)), (8,), BLOCK=32))
    total = 1 + x.astype(np.float64).sum()
    np.testing.assert_allclose(found.outputs["out_ptr"].shadow, [total], rtol=1e-14)


@pytest.mark.parametrize("case", ["softmax", "running", "through_memory"])
def test_values_are_those_without_shadows(case: str) -> None:
    x = rng.standard_normal((40, 16)).astype(np.float32)
    kernel, args, told = {
        "softmax": (softmax, (x, np.zeros((40, 16), np.float32), 16), {"BLOCK": 16}),
        "running": (running, (x, np.zeros((40, 16), np.float32)), {"N": 40}),
        "through_memory": (
            through_memory, (x, np.zeros(32, np.float16), np.zeros(32, np.float32)), {"N": 32},
        ),
    }[case]  # fmt: skip
    grid = (1,) if case == "through_memory" else (40,)
    launch = captured(kernel, args, grid, **told)
    values = {name: o.values.copy() for name, o in on_grid(launch).outputs.items()}
    plainly(launch)
    for name, found in values.items():
        view = launch.arguments[name]
        array = next(a for a in args if isinstance(a, np.ndarray) and a.ctypes.data == view.base)
        assert array.reshape(-1).tobytes() == found.tobytes()
