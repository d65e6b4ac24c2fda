"""Matrix products as PTX: in which type the unit adds, and how wide the sums are stored."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from tests.compiler.lowered import TARGETS, compiled

N = 1024


@triton.jit
def matmul(
    a, b, c, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr, SUMS: tl.constexpr,
):  # fmt: skip
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    a += m[:, None] * K + k[None, :]
    b += k[:, None] * 1024 + n[None, :]
    sums = tl.zeros((M, N), SUMS)
    for _ in range(0, K, BLOCK_K):
        sums = tl.dot(tl.load(a), tl.load(b), sums, out_dtype=SUMS)
        a += BLOCK_K
        b += BLOCK_K * 1024
    tl.store(c + m[:, None] * 1024 + n[None, :], sums)


@triton.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SUMS: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(x, y, out_dtype=SUMS))


def units(ptx: str) -> set[str]:
    """The instructions of the matrix units."""
    return set(re.findall(r"\b((?:wgmma\.mma_async|mma)\.sync\.aligned\.m[\w.]+)", ptx))


def looped(sums: Any, stored: type, target: str, m: int, n: int, num_warps: int) -> str:
    a = np.zeros((N, N), np.float16)
    told: Any = (a, a.copy(), np.zeros((N, N), stored), N, m, n, 32, sums)
    return compiled(matmul, told, target, num_warps).ptx


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("m", "n", "num_warps"), [(128, 128, 8), (32, 32, 2)])
def test_float16_sums_stay_float16(target: str, m: int, n: int, num_warps: int) -> None:
    ptx = looped(tl.float16, np.float16, target, m, n, num_warps)
    (unit,) = units(ptx)
    if target == "sm_90a" and num_warps == 8:
        assert unit == "wgmma.mma_async.sync.aligned.m64n128k16.f16.f16.f16"
        assert "wgmma.wait_group.sync.aligned 1;" in ptx  # in flight over the turns of the loop
    else:
        assert unit == "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
    assert "cvt.f32.f16" not in ptx


def test_float16_sums_take_half_the_registers() -> None:
    ptx = looped(tl.float16, np.float16, "sm_90a", 128, 128, 8)
    (operands,) = set(re.findall(r"m64n128k16\.f16\.f16\.f16 \{([^}]*)\}", ptx)[:1])
    assert len(operands.split(",")) == 32


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8])
@pytest.mark.parametrize(("m", "n", "num_warps"), [(64, 64, 4), (32, 64, 2)])
def test_sums_are_stored_as_wide_as_memory_takes_them(
    kind: type, target: str, m: int, n: int, num_warps: int
) -> None:
    x: Any = np.zeros((m, 64), kind)
    out = np.zeros((m, n), np.int32 if kind is np.int8 else np.float32)
    told: Any = (x, np.zeros((64, n), kind), out, m, n, 64, tl.float32)
    stores = set(re.findall(r"st\.global\.\S+", compiled(product, told, target, num_warps).ptx))
    assert stores == {"st.global.v4.b32"}


def test_sums_of_integers_wrap_where_they_can_reach_the_end() -> None:
    x = np.zeros((32, 64), np.int8)
    told: Any = (x, x.reshape(64, 32), np.zeros((32, 32), np.int32), 32, 32, 64, tl.int32)
    first = compiled(product, told, num_warps=2).ptx
    assert units(first) == {"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32"}
    a = np.zeros((N, N), np.int8)
    told = (a, a.copy(), np.zeros((N, N), np.int32), N, 32, 32, 32, tl.int32)
    further = compiled(matmul, told, num_warps=2).ptx
    assert units(further) == {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"}


@triton.jit
def narrow(
    a, b, c, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr, LIMIT: tl.constexpr
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    a += m[:, None] * K + k[None, :]
    b += k[:, None] * 1024 + n[None, :]
    sums = tl.zeros((M, N), tl.float32)
    for _ in range(0, K, BLOCK_K):
        sums = tl.dot(tl.load(a), tl.load(b), sums, max_num_imprecise_acc=LIMIT)
        a += BLOCK_K
        b += BLOCK_K * 1024
    tl.store(c + m[:, None] * 1024 + n[None, :], sums)


@pytest.mark.parametrize(("limit", "parts"), [(None, 0), (0, 4), (32, 4), (64, 2), (128, 1)])
@pytest.mark.parametrize(("m", "n"), [(64, 64), (64, 256)])
def test_sums_of_8_bit_floats_are_handed_on(limit: int | None, parts: int, m: int, n: int) -> None:
    a = np.zeros((N, N), ml_dtypes.float8_e4m3fn)
    told: Any = (a, a.copy(), np.zeros((N, N), np.float32), N, m, n, 128, limit)
    ptx = compiled(narrow, told).ptx
    assert ptx.count("add.f32") == m * n // 128 * parts
    instructions = n // min(n, 256 if limit is None else 128)
    assert ptx.count("wgmma.mma_async") == 4 * instructions
    waits = re.findall(r"wgmma\.wait_group\.sync\.aligned (\d)", ptx)
    assert waits == ["0"] * max(1, parts * instructions)
