"""The kernels of `benchmarks/kernels.py` run on the grid machine, clean, with the step machine's bits."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.tools.tensor_descriptor import TensorDescriptor
from tests.agreement.agree import on_grid

KERNELS = Path(__file__).parent.parent.parent / "benchmarks" / "kernels.py"
F16, F32 = np.float16, np.float32


def kernels() -> Any:
    """The module, with blockstep in the place of Triton."""
    with patch.dict(os.environ, IMPL="blockstep"):
        spec = importlib.util.spec_from_file_location("anchors", KERNELS)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["anchors"] = module
        spec.loader.exec_module(module)
    return module


K = kernels()
RANDOM = np.random.default_rng(3)


def normal(*shape: int, dtype: Any = F32) -> Any:
    """Random numbers."""
    return RANDOM.normal(size=shape).astype(dtype)


def test_vector_add() -> None:
    x, y = normal(1000), normal(1000)
    found = on_grid(K.vector_add, (8,), x, y, np.zeros(1000, F32), 1000, BLOCK=128)
    np.testing.assert_array_equal(found.outputs[2], x + y)


def test_softmax() -> None:
    x = normal(9, 50)
    found = on_grid(K.softmax, (9,), np.zeros((9, 50), F32), x, 50, 50, 50, BLOCK=64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found.outputs[0], e / e.sum(axis=1, keepdims=True), rtol=2e-6)


def test_layer_norm() -> None:
    x, w, b = normal(5, 60), normal(60), normal(60)
    on_grid(K.layer_norm, (5,), x, np.zeros((5, 60), F32), w, b, 60, 60, 1e-5, BLOCK=64)


def test_swiglu() -> None:
    a, b = normal(300, dtype=F16), normal(300, dtype=F16)
    on_grid(K.swiglu, (5,), a, b, np.zeros(300, F16), 300, BLOCK=64)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (50, 70, 40)])
def test_matmul(m: int, n: int, k: int) -> None:
    a, b = normal(m, k, dtype=F16), normal(k, n, dtype=F16)
    sizes = dict(BM=16, BN=32, BK=16, GROUP=2)
    grid = (-(-m // 16) * -(-n // 32),)
    strides = (k, 1, n, 1, n, 1)
    found = on_grid(K.matmul, grid, a, b, np.zeros((m, n), F16), m, n, k, *strides, **sizes)
    wanted = a.astype(F32) @ b.astype(F32)
    np.testing.assert_allclose(found.outputs[2].astype(F32), wanted, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    q, k, v = (normal(2, 64, 16, dtype=F16) for _ in range(3))
    out = np.zeros((2, 64, 16), F16)
    on_grid(K.attention, (4, 2), q, k, v, out, 0.3, 64, D=16, BM=16, BN=16, CAUSAL=causal)


def test_row_sum() -> None:
    on_grid(K.row_sum, (7,), normal(7, 90), np.zeros(7, F32), 90, BLOCK=32)


def test_matmul_with_descriptors() -> None:
    a, b, c = normal(48, 32, dtype=F16), normal(64, 32, dtype=F16), np.zeros((48, 64), F16)
    blocks = ([16, 16], [32, 16], [16, 32])
    made = [TensorDescriptor.from_tensor(x, s) for x, s in zip((a, b, c), blocks, strict=True)]
    found = on_grid(K.matmul_desc, (6,), *made, 48, 64, 32, BM=16, BN=32, BK=16, GROUP=2)
    wanted = a.astype(F32) @ b.astype(F32).T
    np.testing.assert_allclose(found.outputs[2].astype(F32), wanted, rtol=2e-3, atol=2e-2)


def test_histogram() -> None:
    x = RANDOM.integers(0, 32, 500).astype(np.int32)
    out = np.zeros(32, np.int32)
    found = on_grid(K.histogram, (4,), x, out, 500, BINS=32, BLOCK=128)
    np.testing.assert_array_equal(found.outputs[1], np.bincount(x, minlength=32))


def test_dropout() -> None:
    on_grid(K.dropout, (4,), normal(500), np.zeros(500, F32), 500, 0.4, 123, BLOCK=128)


@triton.jit
def gather(x, index, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + tl.load(index + at)))


@triton.jit
def scatter(x, index, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + tl.load(index + at), tl.load(x + at))


@triton.jit
def ranked(x, counts, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.atomic_add(counts + tl.load(x + at), 1))


@triton.jit
def waits(x, out):
    p = tl.program_id(0)
    n = tl.load(x + p)
    total = 0
    while n > 0:
        total += n
        n -= 1
    tl.store(out + p, total)


@pytest.mark.parametrize("kernel", [gather, scatter])
def test_gather_and_scatter(kernel: Any) -> None:
    index = RANDOM.permutation(1024).astype(np.int32)
    on_grid(kernel, (8,), normal(1024), index, np.zeros(1024, F32), BLOCK=128)


def test_a_histogram_whose_old_values_are_used() -> None:
    x = RANDOM.integers(0, 16, 1024).astype(np.int32)
    on_grid(ranked, (8,), x, np.zeros(16, np.int32), np.zeros(1024, np.int32), BLOCK=128)


@pytest.mark.parametrize("batch", [None, 5])
def test_loops_of_different_lengths(batch: int | None) -> None:
    x = RANDOM.integers(0, 100, 64).astype(np.int32)
    found = on_grid(waits, (64,), x, np.zeros(64, np.int32), batch=batch)
    np.testing.assert_array_equal(found.outputs[1], x * (x + 1) // 2)


@triton.jit
def numbered(out, odd, X: tl.constexpr, Y: tl.constexpr):
    p = (tl.program_id(2) * Y + tl.program_id(1)) * X + tl.program_id(0)
    tl.store(out + p, tl.program_id(1) * 10000 + p)
    if p % 3 == 1:
        tl.store(odd + p // 3, p)


@pytest.mark.parametrize("grid", [(70, 40, 2), (4999, 1, 1), (1, 33, 130)])
def test_a_grid_of_several_batches(grid: tuple[int, int, int]) -> None:
    count = grid[0] * grid[1] * grid[2]
    out, odd = np.zeros(count, np.int32), np.zeros(count // 3 + 1, np.int32)
    found = on_grid(numbered, grid, out, odd, X=grid[0], Y=grid[1])
    p = np.arange(count)
    np.testing.assert_array_equal(found.outputs[0], p // grid[0] % grid[1] * 10000 + p)
