"""A threshold decides which elements are stored, and some of them are NaN."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def above(x_ptr, out_ptr, limit, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = x / x
    tl.store(out_ptr + at, x, mask=y >= limit)
    #~^ WARN: a comparison with NaN is used as a mask


above[(1,)](np.array([1, 0, 2, 0], np.float32), np.zeros(4, np.float32), 1.0, BLOCK=4)
