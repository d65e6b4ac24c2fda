"""A mask of which the first part alone is false wherever the second is undefined."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def positive(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, 1.0, mask=mask & (x > 0))


positive[(1,)](np.ones(50, np.float32), np.zeros(50, np.float32), 50, BLOCK=64)
