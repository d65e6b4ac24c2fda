"""Found by the fuzzer (case 716): error."""

import ml_dtypes
import numpy as np

import blockstep as triton
import blockstep.language as tl
from tests.agreement.agree import Empty, agree


@triton.jit
def add(x, y):
    return x + y


@triton.jit
def least(x, y):
    return tl.where(x < y, x, y)


@triton.jit
def second(x, y):
    return y


@triton.jit
def mixed(x, y):
    return x + y - x * y


@triton.jit
def kernel(b1, x3, b5, o11, x14, b17, x19, a22, o25, x30, x34, o36, x37, o39, o40, n):
    p = tl.program_id(0) + tl.program_id(1) * 2
    at0 = tl.arange(0, 8) * 1
    at1 = tl.arange(0, 2) * 1
    at2 = tl.arange(0, 8)[:, None] * 2 + tl.arange(0, 2)[None, :] * 1
    at3 = tl.arange(0, 2)[:, None] * 8 + tl.arange(0, 8)[None, :] * 1
    v2 = tl.load(b1 + p * 16 + at2)
    v4 = tl.load(x3 + (p * 8 + at0 // 2))
    v6 = tl.where(at3 != 0, at3 != 0, at3 != 0) ^ (tl.full([], False, tl.int1) != 0)
    v7 = tl.load(b5 + p * 16 + at3, mask=v6, other=0.1)
    v8 = tl.abs(((tl.full([8], 0.0, tl.float64) * n.to(tl.float64)).to(tl.float64) + tl.full([], 0.0, tl.float64)).to(tl.float64))
    v9 = (at2 + (at1 + tl.where(p != 0, at1, at1.to(tl.int32))).to(tl.int32)[None, :]).to(tl.int32)
    for i10 in range(0, p % 3, 3):
        v12 = tl.gather(v8 != v8, tl.broadcast_to(p * 0 + 5 + tl.arange(0, 8)[:] * 0, [8]) % 8, 0)
        tl.store(o11 + p * 8 + at0, (at0.to(tl.int64) & 63).to(tl.int8), mask=v12)
        c13 = tl.full([], 0, tl.int32)
        while (c13 < tl.minimum(tl.maximum(tl.abs(c13), 0), 4)) & tl.where(tl.max(at0, axis=0) != 0, (p != 0) | tl.full([], False, tl.int1), tl.where(i10 != 0, n != 0, n != 0)):
            pass
        v18 = tl.max(at1, axis=0) != 0
        tl.store(b17 + p * 1 + 0, tl.reduce((tl.associative_scan(tl.full([2], 2, tl.uint32), 0, second, reverse=False) % 4).to(tl.uint32), 0, second).to(tl.uint32), mask=v18)
    v20 = tl.trans(at3) != 0
    v21 = tl.load(x19 + tl.minimum(tl.maximum((tl.flip(at2, 0) | tl.sum(at1, axis=0).to(tl.int32)).to(tl.int32), 0), 63), mask=v20, other=tl.full([8, 2], -4, tl.int8))
    tl.atomic_add(a22 + tl.broadcast_to(p * 4 + 2 + tl.arange(0, 8)[:] * 0, [8]) % 40, tl.log(tl.min(at3.to(tl.float64), axis=0).to(tl.float64)), mask=at0 < p % 3 + 1)
    c23 = tl.full([], 0, tl.int32)
    while (c23 < tl.minimum(tl.maximum(((p.to(tl.int64) & 63).to(tl.uint16).to(tl.int32) + (n % ((p & 7) + 1).to(tl.int32)).to(tl.int32)).to(tl.int32), 0), 4)) & (tl.sum(at1, axis=0) != 0):
        v24 = tl.load(x19 + p * 16 + at2)
        c23 += 1
    c26 = tl.full([], 0, tl.int32)
    while c26 < tl.minimum(tl.maximum(tl.maximum(tl.abs(p), (n | p).to(tl.int32)), 0), 4):
        c26 += 1
    c33 = tl.full([], 0, tl.int32)
    while (c33 < p % 2) & (tl.reduce(at0, 0, second).to(tl.int32) == tl.full([], -1, tl.int32)):
        pass
    if (n != 0) & tl.full([], True, tl.int1) & tl.where(tl.full([], False, tl.int1), tl.full([], False, tl.int1), p != 0):
        return
    tl.store(o39 + p * 1 + 0, tl.full([], 1, tl.int8))
    tl.store(o40 + p * 2 + at1, tl.interleave((tl.full([1], 7, tl.int32) >> 2).to(tl.int32), tl.abs(tl.gather(tl.arange(0, 1).to(tl.int32), (tl.arange(0, 1).to(tl.int32).to(tl.uint32) % 1).to(tl.int32), 0))), mask=at1 < p)


GRID = (2, 2)
BATCH = 2


def arguments():
    random = np.random.default_rng(1)
    b1 = random.integers(0, 2, 64).astype(np.uint64)
    x3 = random.integers(0, 30, 32).astype(np.uint16)
    b5 = random.choice([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-30, 65504.0], 64).astype(np.float32)
    o11 = np.zeros(32, np.int8)
    x14 = random.choice([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-30, 65504.0], 32).astype(np.float32)
    b17 = random.integers(0, 30, 4).astype(np.uint32)
    x19 = random.integers(0, 5, 64).astype(np.int8)
    a22 = random.normal(size=40).astype(np.float64)
    o25 = np.zeros(8, np.int64)
    x30 = random.integers(0, 30, 8).astype(np.int8)
    x34 = random.normal(size=32).astype(np.float16)
    o36 = Empty((64,), ml_dtypes.bfloat16)
    x37 = random.choice([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-30, 65504.0], 4).astype(np.float16)
    o39 = np.zeros(4, np.int8)
    o40 = np.zeros(8, np.int32)
    return [b1, x3, b5, o11, x14, b17, x19, a22, o25, x30, x34, o36, x37, o39, o40, 32]


if __name__ == "__main__":
    print(agree(kernel, GRID, *arguments(), batch=BATCH))
