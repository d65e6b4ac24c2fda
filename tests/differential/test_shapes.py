"""Kernels over odd lengths, types and block sizes agree on every rung: what is drawn is the type, the
lengths (from 1 on), the blocks, and how the kernel is launched."""

from __future__ import annotations

from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import blockstep as triton
import blockstep.language as tl
from blockstep.runtime.ladder import verify
from tests.differential.climbing import Climbing
from tests.differential.sample import Sample, current

FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32)
PRODUCTS = (
    (np.float16, np.float32), (ml_dtypes.bfloat16, np.float32), (np.float32, np.float32),
    (ml_dtypes.float8_e5m2, np.float32), (ml_dtypes.float8_e4m3fn, np.float32), (np.int8, np.int32),
)  # fmt: skip
DRAWS, ALL = 40, 400  # of each kernel


@triton.jit
def scaled_sum(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x * 3 + tl.load(y_ptr + offs, mask=mask, other=0), mask=mask)


@triton.jit
def row_totals(x_ptr, out_ptr, most_ptr, m, n, stride, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros([BM], out_ptr.dtype.element_ty)
    most = tl.full([BM], -100, x_ptr.dtype.element_ty)
    for first in range(0, n, BN):
        columns = first + tl.arange(0, BN)
        mask = (rows[:, None] < m) & (columns[None, :] < n)
        x = tl.load(x_ptr + rows[:, None] * stride + columns[None, :], mask=mask, other=0)
        total += tl.sum(x.to(total.dtype), axis=1)
        most = tl.maximum(most, tl.max(x, axis=1)).to(most.dtype)
    tl.store(out_ptr + rows, total, mask=rows < m)
    tl.store(most_ptr + rows, most, mask=rows < m)


@triton.jit
def turned(x_ptr, out_ptr, m, n, stride, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    x = tl.load(x_ptr + rows[:, None] * stride + columns[None, :], mask=inside)
    tl.store(out_ptr + columns[:, None] * m + rows[None, :], tl.trans(x), mask=tl.trans(inside))


@triton.jit
def softmax(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n + offs
    x = tl.load(x_ptr + at, mask=offs < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + at, e / tl.sum(e, axis=0), mask=offs < n)


@triton.jit
def product(
    a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros([BM, BN], c_ptr.dtype.element_ty)
    for first in range(0, k, BK):
        inner = first + tl.arange(0, BK)
        a_mask = (rows[:, None] < m) & (inner[None, :] < k)
        b_mask = (inner[:, None] < k) & (columns[None, :] < n)
        a = tl.load(a_ptr + rows[:, None] * k + inner[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * n + columns[None, :], mask=b_mask, other=0.0)
        total = tl.dot(a, b, total, out_dtype=c_ptr.dtype.element_ty)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total, mask=inside)


def numbers(random: Random, kind: Any, *shape: int) -> Any:
    """Small whole numbers, or where the type has them fractions as well."""
    generator = np.random.default_rng(random.randrange(1 << 32))
    if kind in INTEGERS:
        return generator.integers(0, 9, shape).astype(kind)
    if random.random() < 0.5:
        return generator.integers(-4, 5, shape).astype(np.float32).astype(kind)
    return generator.normal(size=shape).astype(np.float32).astype(kind)


def of_vectors(random: Random) -> Any:
    kind, n = random.choice(FLOATS + INTEGERS), random.randint(1, 700)
    block = random.choice([16, 64, 128, 512])
    x, y = numbers(random, kind, n), numbers(random, kind, n)
    return scaled_sum, (-(-n // block),), (x, y, np.zeros(n, kind), n), {"BLOCK": block}


def of_rows(random: Random) -> Any:
    kind = random.choice((*FLOATS, np.int16, np.int32, np.int64))
    m, n, more = random.randint(1, 70), random.randint(1, 150), random.randint(0, 3)
    blocks = {"BM": random.choice([1, 4, 16]), "BN": random.choice([8, 32, 128])}
    total = np.int64 if kind in INTEGERS else np.float64 if kind is np.float64 else np.float32
    out, most = np.zeros(m, total), np.zeros(m, kind)
    given = numbers(random, kind, m, n + more), out, most, m, n, n + more
    return row_totals, (-(-m // blocks["BM"]),), given, blocks


def of_matrices(random: Random) -> Any:
    kind, m, n = random.choice(FLOATS + INTEGERS), random.randint(1, 90), random.randint(1, 90)
    blocks = {"BM": random.choice([4, 16, 64]), "BN": random.choice([8, 32, 64])}
    given = numbers(random, kind, m, n), np.zeros((n, m), kind), m, n, n
    return turned, (-(-m // blocks["BM"]), -(-n // blocks["BN"])), given, blocks


def of_softmax(random: Random) -> Any:
    kind, rows, n = random.choice(FLOATS[:3]), random.randint(1, 9), random.randint(1, 600)
    block = max(triton.next_power_of_2(n), 16)
    given = numbers(random, kind, rows, n), np.zeros((rows, n), kind), n
    return softmax, (rows,), given, {"BLOCK": block}


def of_products(random: Random) -> Any:
    kind, total = random.choice(PRODUCTS)
    m, n, k = (random.randint(1, 140) for _ in range(3))
    blocks = {"BM": random.choice([16, 32, 64]), "BN": random.choice([16, 64, 128]),
              "BK": random.choice([32, 64])}  # fmt: skip
    a, b = numbers(random, kind, m, k), numbers(random, kind, k, n)
    grid = -(-m // blocks["BM"]), -(-n // blocks["BN"])
    return product, grid, (a, b, np.zeros((m, n), total), m, n, k), blocks


@pytest.mark.parametrize("draw", current().numbers(DRAWS, ALL, "shapes"))
@pytest.mark.parametrize("make", [of_vectors, of_rows, of_matrices, of_softmax, of_products])
def test_a_kernel_over_an_odd_shape_agrees_on_every_rung(
    make: Any, draw: int, sample: Sample, climbing: Climbing
) -> None:
    kernel, grid, given, blocks = make(Random(draw))
    options = sample.options(f"{make.__name__} {draw}")
    found = verify(kernel, given, grid=grid, **blocks, **options)
    shapes = [getattr(a, "shape", a) for a in given]
    climbing.check(found, {**options, **blocks, "arguments": shapes, "dtype": given[0].dtype})
    assert found.compared, str(found)
