"""Whole kernels through our compiler: matrix products on every path, pipelines, many CTAs.

Inputs are small integers, so that every order of sums gives the same bits.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.interp.ptx.faults import Trap
from blockstep.tools.tensor_descriptor import TensorDescriptor
from tests.ops.kernels import BF16
from tests.ptx.compiled import Compiled, compiled

RANDOM = np.random.default_rng(5)


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        inside = (rm[:, None] < M) & (k + rk[None, :] < K)
        a = tl.load(a_ptr + rm[:, None] * K + k + rk[None, :], mask=inside, other=0.0)
        inside = (k + rk[:, None] < K) & (rn[None, :] < N)
        b = tl.load(b_ptr + (k + rk[:, None]) * N + rn[None, :], mask=inside, other=0.0)
        acc = tl.dot(a, b, acc)
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=inside)


@triton.jit
def matmul_described(
    a_desc, b_desc, c_desc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a_desc.load([m, k]), b_desc.load([k, n]), acc)
    c_desc.store([m, n], acc)


@triton.jit
def matmul_rows_described(
    a_desc, b_desc, c_desc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a_desc.load([m, k]), b_desc.load([n, k]).T, acc)
    c_desc.store([m, n], acc)


@triton.jit
def softmax(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * n + cols, e / tl.sum(e, axis=0), mask=cols < n)


def small(*shape: int, dtype: Any) -> Any:
    """Small integers."""
    return RANDOM.integers(-4, 5, shape).astype(np.float32).astype(dtype)


def product(dtype: Any, target: str, size: tuple[int, int, int]) -> tuple[Compiled, Any, Any]:
    """A compiled product, its result and what has to come out."""
    M, N, K = size
    a, b, c = small(M, K, dtype=dtype), small(K, N, dtype=dtype), np.zeros((M, N), np.float32)
    sizes = {"BM": 64, "BN": 64, "BK": 32}
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    made = compiled(matmul, (a, b, c, M, N, K), sizes, grid, target)
    return made, c, a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", [np.float16, BF16, np.float32], ids=["f16", "bf16", "f32"])
@pytest.mark.parametrize("size", [(128, 128, 128), (70, 90, 50)], ids=["whole", "ragged"])
def test_a_product_of_integers_is_exact(dtype: Any, target: str, size: Any) -> None:
    made, found, expected = product(dtype, target, size)
    assert made.run().faults == []
    np.testing.assert_array_equal(found, expected)


def test_a_product_through_descriptors_is_exact() -> None:
    a, b, c = (
        small(100, 96, dtype=np.float16),
        small(96, 80, dtype=np.float16),
        np.zeros((100, 80), np.float32),
    )
    described = [
        TensorDescriptor.from_tensor(x, list(box))
        for x, box in ((a, (64, 32)), (b, (32, 64)), (c, (64, 64)))
    ]
    sizes = {"BM": 64, "BN": 64, "BK": 32}
    made = compiled(matmul_described, (*described, 96), sizes, (2, 2))
    assert made.run().faults == []
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float16, np.float32], ids=["f16", "f32"])
def test_a_square_box_that_is_read_the_other_way_round_is_exact(dtype: Any) -> None:
    a, b = small(100, 96, dtype=dtype), small(80, 96, dtype=dtype)
    c = np.zeros((100, 80), np.float32)
    described = [TensorDescriptor.from_tensor(x, [64, 64]) for x in (a, b, c)]
    sizes = {"BM": 64, "BN": 64, "BK": 64}
    made = compiled(matmul_rows_described, (*described, 96), sizes, (2, 2))
    assert "cp.async.bulk.tensor" in made.text
    assert made.run().faults == []
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


def mutants(text: str, pattern: str) -> list[str]:
    """The text without one of the lines that match, for each of them."""
    lines = text.split("\n")
    at = [n for n, line in enumerate(lines) if re.match(pattern, line)]
    return ["\n".join([*lines[:n], "", *lines[n + 1 :]]) for n in at]


def judged(made: Compiled) -> list[str]:
    """The kinds of what is found, a trap among them."""
    try:
        return [fault.kind for fault in made.run().faults]
    except Trap as trap:
        return [trap.fault.kind]


def test_every_barrier_of_a_softmax_is_missed_but_the_one_before_shared_memory_is_used() -> None:
    x = RANDOM.normal(size=(4, 1000)).astype(np.float32)
    made = compiled(softmax, (x, np.zeros_like(x), 1000), {"BLOCK": 1024}, (4,))
    assert judged(made) == []
    texts = mutants(made.text, r"\s*(bar|barrier)\.sync")
    found = []
    for text in texts:
        made.text = text
        found.append(judged(made))
    assert found == [[], ["race"], ["race"], ["race"]]


@pytest.mark.parametrize("threads", [128, 1 << 14])
def test_batches_of_any_size_give_the_same(threads: int) -> None:
    made, found, expected = product(np.float16, "sm_90a", (192, 128, 64))
    assert made.run(batch_threads=threads).faults == []
    np.testing.assert_array_equal(found, expected)


def test_every_wait_of_a_pipelined_product_is_missed() -> None:
    made, _, _ = product(np.float16, "sm_90a", (64, 64, 256))
    assert judged(made) == []
    for what in ("cp.async", "wgmma"):
        texts = mutants(made.text, rf"\s*{what}.wait_group")
        assert texts
        for text in texts:
            made.text = text
            assert {"async", "race"} & set(judged(made)), what


def test_a_product_uses_the_instructions_that_it_is_to_test() -> None:
    older, newer = (product(np.float16, t, (128, 128, 128))[0].text for t in ("sm_80", "sm_90a"))
    assert "mma.sync" in older
    assert "wgmma.mma_async" in newer and "cp.async" in newer


@triton.jit
def squared(a_ptr, c_ptr, B: tl.constexpr):
    """A factor that lanes compute and put into shared memory."""
    i = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    a = tl.load(a_ptr + i) + 1
    tl.store(c_ptr + i, tl.dot(a, a))


def test_a_missing_fence_before_a_product_is_found() -> None:
    a, c = small(64, 64, dtype=np.float16), np.zeros((64, 64), np.float32)
    made = compiled(squared, (a, c), {"B": 64}, (1,))
    assert judged(made) == []
    texts = mutants(made.text, r"\s*fence\.proxy\.async")
    made.text = re.sub(r"\n\s*fence\.proxy\.async[^\n]*", "", made.text)
    assert texts and set(judged(made)) == {"async"}


@triton.jit
def sums_product(a_ptr, b_ptr, c_ptr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    a = tl.load(a_ptr + rm[:, None] * BK + rk[None, :])
    b = tl.load(b_ptr + rk[:, None] * BN + rn[None, :])
    tl.store(c_ptr + rm[:, None] * BN + rn[None, :], tl.dot(a + a, b + b))


def test_the_last_fence_before_a_wgmma_is_missed_and_serves_for_those_before_it() -> None:
    a, b = small(64, 64, dtype=np.float16), small(64, 64, dtype=np.float16)
    c = np.zeros((64, 64), np.float32)
    made = compiled(sums_product, (a, b, c), {"BM": 64, "BN": 64, "BK": 64}, (1,))
    assert judged(made) == []
    texts = mutants(made.text, r"\s*fence\.proxy\.async")
    assert "wgmma" in made.text
    found = []
    for text in texts:
        made.text = text
        found.append(judged(made))
    assert found[:-1] == [[]] * (len(texts) - 1)
    assert set(found[-1]) == {"async"}


def test_every_wait_and_fence_of_a_product_through_descriptors_is_missed() -> None:
    a, b = small(64, 256, dtype=np.float16), small(256, 64, dtype=np.float16)
    c = np.zeros((64, 64), np.float32)
    described = [
        TensorDescriptor.from_tensor(x, list(box))
        for x, box in ((a, (64, 64)), (b, (64, 64)), (c, (64, 64)))
    ]
    made = compiled(matmul_described, (*described, 256), {"BM": 64, "BN": 64, "BK": 64}, (1,))
    assert judged(made) == []
    assert "cp.async.bulk.tensor" in made.text
    for what in (r"wgmma\.wait_group", r"\{? ?\.reg \.pred p; again"):
        for text in mutants(made.text, rf"\s*{what}"):
            made.text = text
            assert {"async", "race"} & set(judged(made)), what
