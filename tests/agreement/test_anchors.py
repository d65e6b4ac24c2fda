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
