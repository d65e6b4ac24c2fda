"""A masked load without `other` feeds a sum: what the masked lanes hold is not defined."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr, tl.sum(x))  #~ ERROR: an undefined value is stored to `out_ptr`


row_sum[(1,)](np.ones(50, np.float32), np.zeros(1, np.float32), 50, BLOCK=64)
