"""E[x^2] - E[x]^2 of equal large numbers comes out below zero, and rsqrt of it is NaN."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def norm(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
    mean = tl.sum(x, axis=0) / n
    variance = tl.sum(x * x, axis=0) / n - mean * mean
    tl.store(out_ptr + cols, (x - mean) * tl.rsqrt(variance + 1e-5), mask=cols < n)
    #~^ WARN: this store writes NaN to `out_ptr`


norm[(1,)](np.full(6, 158.4, np.float32), np.zeros(6, np.float32), 6, BLOCK=8)
