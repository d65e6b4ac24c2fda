"""The mean of no elements."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def mean(x_ptr, count_ptr, out_ptr, BLOCK: tl.constexpr):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    count = tl.load(count_ptr + row)
    x = tl.load(x_ptr + row * BLOCK + cols, mask=cols < count, other=0.0)
    tl.store(out_ptr + row, tl.sum(x, axis=0) / count)
    #~^ WARN: this store writes NaN to `out_ptr`


mean[(2,)](np.ones((2, 4), np.float32), np.array([3, 0], np.int32), np.zeros(2, np.float32), BLOCK=4)
