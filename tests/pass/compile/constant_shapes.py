"""Shapes computed from constants, a static_assert that holds, and a scalar condition."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, n, BLOCK: tl.constexpr):
    HALF: tl.constexpr = BLOCK // 2
    tl.static_assert(HALF * 2 == BLOCK)
    if n > 0:
        tl.store(out_ptr + tl.arange(0, HALF), 1.0)


fill[(1,)](np.zeros(32, np.float32), 5, BLOCK=32)
