"""The output is an expanded row: all rows of the block are the same memory."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, stride, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + m * N + n)
    tl.store(out_ptr + m * stride + n, x)
    #~^ ERROR: this store writes different values to one element of `out_ptr`


row = np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (4, 8), (0, 4))
copy[(1,)](np.arange(32, dtype=np.float32), row, 0, M=4, N=8)
