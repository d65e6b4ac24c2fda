"""The same difference, in float32: it overflows at the store, to inf, which is no NaN."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def difference(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + cols).to(tl.float32), tl.load(y_ptr + cols).to(tl.float32)
    tl.store(out_ptr + cols, x * x * 2.0 - y * y)


x = np.array([1, 2, 300, 400], np.float16)
difference[(1,)](x, x + np.float16(1), np.zeros(4, np.float16), BLOCK=4)
