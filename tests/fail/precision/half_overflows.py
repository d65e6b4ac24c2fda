"""float16 ends at 65504: two products overflow to inf, and their difference is NaN."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def difference(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + cols), tl.load(y_ptr + cols)
    a = x * x
    b = y * y
    tl.store(out_ptr + cols, a - b)
    #~^ WARN: this store writes NaN to `out_ptr`


x = np.array([1, 2, 300, 400], np.float16)
difference[(1,)](x, x + np.float16(1), np.zeros(4, np.float16), BLOCK=4)
