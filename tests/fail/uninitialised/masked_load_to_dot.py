"""K is no multiple of its block, and the loads have masks but no zeros."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr):
    m, n = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    k = tl.arange(0, N)
    a = tl.load(a_ptr + m * K + k[None, :], mask=k[None, :] < K)
    b = tl.load(b_ptr + k[:, None] * N + n, mask=k[:, None] < K)
    tl.store(c_ptr + m * N + n, tl.dot(a, b))
    #~^ ERROR: an undefined value is stored to `c_ptr`


a, b = np.ones((16, 10), np.float32), np.ones((10, 16), np.float32)
matmul[(1,)](a, b, np.zeros((16, 16), np.float32), 10, N=16)
