"""float32 factors that tf32 holds exactly lose nothing; nor is anything said where tf32 was asked for."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def product(a_ptr, b_ptr, c_ptr, N: tl.constexpr, ASKED: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
    if ASKED:
        tl.store(c_ptr + at, tl.dot(a, b, input_precision="tf32"))
    else:
        tl.store(c_ptr + at, tl.dot(a, b))


a = np.arange(256, dtype=np.float32).reshape(16, 16)
product[(1,)](a, a, np.zeros((16, 16), np.float32), N=16, ASKED=False)
product[(1,)](a / 3, a, np.zeros((16, 16), np.float32), N=16, ASKED=True)
