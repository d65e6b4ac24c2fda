"""Two NaNs of different birth in one block: the first element's is told."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def ratio(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    a = tl.sqrt(x)
    b = x / y
    tl.store(out_ptr + at, tl.where(at < 2, b, a))
    #~^ WARN: this store writes NaN to `out_ptr`


x = np.array([-1, 0, 4, -9], np.float32)
ratio[(1,)](x, np.array([1, 0, 1, 1], np.float32), np.zeros(4, np.float32), BLOCK=4)
