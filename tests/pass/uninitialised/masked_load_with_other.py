"""The masked lanes are zero."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr, tl.sum(x))


row_sum[(1,)](np.ones(50, np.float32), np.zeros(1, np.float32), 50, BLOCK=64)
