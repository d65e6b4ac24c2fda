"""NaN is in the block, and not in what is reduced, gathered, scanned or stored of it."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def parts(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, x, mask=i < 2)
    tl.store(out_ptr + N + i, tl.gather(x, i % 2, 0))
    tl.store(out_ptr + 2 * N + i, tl.cumsum(x, axis=0), mask=i < 2)
    tl.store(out_ptr + 3 * N + i, tl.sum(tl.where(i < 2, x, 0.0), axis=0))
    half = tl.arange(0, N // 2)
    tl.store(out_ptr + 4 * N + half, tl.max(tl.reshape(x, (2, N // 2)), axis=0))


parts[(1,)](np.array([1, 2, 3, np.nan], np.float32), np.zeros(20, np.float32), N=4)
