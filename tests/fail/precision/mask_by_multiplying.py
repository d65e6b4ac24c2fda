"""A mask of zeros is multiplied with what may be inf: 0 * inf is NaN."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def masked(x_ptr, keep_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = 1.0 / tl.load(x_ptr + at)
    tl.store(out_ptr + at, x * tl.load(keep_ptr + at))
    #~^ WARN: this store writes NaN to `out_ptr`


x = np.array([1, 0, 2, 4], np.float32)
masked[(1,)](x, (x > 0).astype(np.float32), np.zeros(4, np.float32), BLOCK=4)
