"""A reflected index without a clamp, on an input smaller than the padding."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def reflect(x_ptr, out_ptr, n, pad, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    at = tl.abs(offs - pad)
    at = tl.where(at >= n, 2 * (n - 1) - at, at)
    x = tl.load(x_ptr + at, mask=offs < n + 2 * pad)  #~ ERROR: before the start of `x_ptr`
    tl.store(out_ptr + offs, x, mask=offs < n + 2 * pad)


reflect[(1,)](np.ones(3, np.float32), np.zeros(11, np.float32), 3, 4, BLOCK=16)
