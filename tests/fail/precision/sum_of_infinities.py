"""A sum and a running sum in which inf meets -inf."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def sums(x_ptr, out_ptr, run_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i[:, None] * N + i[None, :])
    tl.store(out_ptr + i, tl.sum(x, axis=1))
    #~^ WARN: this store writes NaN to `out_ptr`
    tl.store(run_ptr + i[:, None] * N + i[None, :], tl.cumsum(x, axis=1))
    #~^ WARN: this store writes NaN to `run_ptr`


x = np.ones((4, 4), np.float32)
x[2] = [1, np.inf, -np.inf, 1]
sums[(1,)](x, np.zeros(4, np.float32), np.zeros((4, 4), np.float32), N=4)
