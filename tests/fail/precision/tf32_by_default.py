"""float32 factors are read as tf32, and nothing says so."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def product(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at))
    #~^ WARN: this product reads float32 as tf32
    tl.store(c_ptr + at, c)


a, b = np.ones((16, 16), np.float32), np.ones((16, 16), np.float32)
b[5, 7] = 1 + 2.0**-11
product[(1,)](a, b, np.zeros((16, 16), np.float32), N=16)
