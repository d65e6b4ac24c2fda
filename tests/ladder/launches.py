"""Launches of the kernels, on small numbers, whose arithmetic is exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blockstep.runtime.descriptor import TensorDescriptor
from blockstep.runtime.ladder import Climb, verify
from tests.ladder import kernels

Array = Any


def small(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    """Integers from -3 to 3."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def zeros(*shape: int, dtype: Any = np.float32) -> Array:
    """An output."""
    return np.zeros(shape, dtype)


def odd_numbers() -> Array:
    """Numbers for which identities of algebra fail."""
    return np.array([1.0, np.inf, np.nan, -0.0, 0.0, -2.5, 1e-45, 3e38] * 8, np.float32)


def _product(kernel: Any, dtype: Any, m: int, k: int, **more: Any) -> Climb:
    a, b = small(m, k, dtype=dtype), small(k, 64, dtype=dtype, seed=1)
    return verify(kernel, (a, b, zeros(m, 64)), grid=(1,), M=m, N=64, K=k, **more)


def _precise() -> Climb:
    a, b = (np.random.default_rng(s).normal(size=(32, 32)).astype(np.float32) for s in (0, 1))
    return verify(kernels.precise_product, (a, b, zeros(32, 32)), grid=(1,), M=32, N=32, K=32)


def _matmul(k_total: int, **more: Any) -> Climb:
    a, b = small(64, k_total, dtype=np.float16), small(k_total, 64, dtype=np.float16, seed=1)
    given = (a, b, zeros(64, 64), k_total)
    return verify(kernels.matmul, given, grid=(1,), M=64, N=64, K=32, **more)


def _boxes() -> Climb:
    a, b = small(64, 320, dtype=np.float16), small(320, 64, dtype=np.float16, seed=1)
    told = TensorDescriptor.from_tensor(a, [64, 64]), TensorDescriptor.from_tensor(b, [64, 64])
    return verify(kernels.boxes, (*told, zeros(64, 64), 320), grid=(1,), M=64, N=64, K=64)


def _integers() -> Climb:
    x = np.random.default_rng(0).integers(-100, 100, 64).astype(np.int32)
    y = np.where(np.arange(64) % 2, 7, -3).astype(np.int32)
    return verify(kernels.integers, (x, y, zeros(128, dtype=np.int32)), grid=(1,), BLOCK=64)


LAUNCHES: dict[str, Callable[[], Climb]] = {
    "arithmetic": lambda: verify(
        kernels.arithmetic, (odd_numbers(), zeros(192)), grid=(1,), BLOCK=64
    ),
    "constants": lambda: verify(kernels.constants, (zeros(64),), grid=(1,), BLOCK=64),
    "two ranges": lambda: verify(
        kernels.two_ranges, (small(128), zeros(64)), grid=(1,), BLOCK=64
    ),
    "store between": lambda: verify(
        kernels.store_between, (small(64), zeros(64)), grid=(1,), BLOCK=64
    ),
    "guarded load": lambda: verify(
        kernels.guarded_load, (small(64), zeros(64), 4), grid=(1,), BLOCK=64
    ),
    "counted": lambda: verify(
        kernels.counted, (zeros(4, dtype=np.int32), zeros(64, dtype=np.int32)), grid=(1,), BLOCK=64
    ),
    "row sum": lambda: verify(
        kernels.row_sum, (small(3, 512), zeros(3)), grid=(3,), COLUMNS=512
    ),
    "prefix": lambda: verify(kernels.prefix, (small(512), zeros(512)), grid=(1,), COLUMNS=512),
    "transposed": lambda: verify(
        kernels.transposed, (small(64, 32), zeros(32, 64)), grid=(1,), M=64, N=32
    ),
    "masked": lambda: verify(
        kernels.masked, (small(1000), zeros(1000), 1000), grid=(8,), BLOCK=128
    ),
    "masked inside": lambda: verify(
        kernels.masked, (small(1024), zeros(1024), 1000), grid=(8,), BLOCK=128
    ),
    "strided": lambda: verify(
        kernels.strided, (small(1024), zeros(256), 3), grid=(1,), BLOCK=256
    ),
    "shifted": lambda: verify(
        kernels.shifted, (small(1024), zeros(256), 5), grid=(1,), BLOCK=256
    ),
    "integers": _integers,
    "backwards": lambda: verify(
        kernels.backwards, (small(128), zeros(256)), grid=(1,), BLOCK=128
    ),
    "to fp8": lambda: verify(
        kernels.to_fp8, (small(128) * 300, zeros(128)), grid=(1,), BLOCK=128
    ),
    "product by mma": lambda: _product(kernels.product, np.float16, 32, 64, arch="sm_80"),
    "product by wgmma": lambda: _product(kernels.product, np.float16, 64, 64),
    "tf32x3": _precise,
    "matmul": lambda: _matmul(144),
    "matmul by mma": lambda: _matmul(144, arch="sm_80"),
    "boxes": _boxes,
    "read back": lambda: verify(
        kernels.read_back, (small(128), zeros(256)), grid=(1,), BLOCK=128
    ),
    "calling": lambda: verify(kernels.calling, (small(8), zeros(4)), grid=(4,)),
}  # fmt: skip
