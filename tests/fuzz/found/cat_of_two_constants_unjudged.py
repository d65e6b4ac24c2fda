"""Found by the fuzzer (case 100043): bits, unjudged."""

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
def guarded(x, y, on):
    if on:
        return x
    return y


@triton.jit
def turned(x, y, n):
    for i in range(n):
        if i % 2 == 0:
            x, y = y, x
    return x


@triton.jit
def kernel(x1, x1_stride, a4, o7, n):
    p = tl.program_id(0)
    at0 = tl.arange(0, 2)
    v2 = tl.load(x1 + (p + at0) * x1_stride)
    v5 = v2 != 0
    v6 = tl.atomic_xor(a4 + at0, 0, mask=v5)
    v2 = tl.gather(v6, tl.arange(0, 2), 0)
    tl.store(o7 + p * 2 + at0, tl.maximum(turned(v2.to(tl.bfloat16), tl.full([2], -1000.0, tl.bfloat16), tl.reduce(at0, 0, second)), tl.cat(tl.full([1], 3.0, tl.bfloat16), tl.full([1], 0.1, tl.bfloat16), can_reorder=True), propagate_nan=tl.PropagateNan.ALL), mask=p < n)


GRID = (2,)
BATCH = None


def arguments():
    random = np.random.default_rng(1)
    x1 = random.choice([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-30, 65504.0], 48).astype(np.float16)
    x1 = x1[::-3]
    a4 = random.integers(-9, 30, 40).astype(np.int64)
    o7 = np.zeros(16, ml_dtypes.bfloat16)
    return [x1, -3, a4, o7, 37]


if __name__ == "__main__":
    print(agree(kernel, GRID, *arguments(), batch=BATCH))
