"""0 * inf inside of a matrix product."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def product(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), input_precision="ieee")
    tl.store(c_ptr + at, c)
    #~^ WARN: this store writes NaN to `c_ptr`


a, b = np.ones((16, 16), np.float32), np.ones((16, 16), np.float32)
a[3, 5], b[5, 7] = np.inf, 0
product[(1,)](a, b, np.zeros((16, 16), np.float32), N=16)
