"""A matmul whose K is no multiple of its block: the loads have no mask along K."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, B: tl.constexpr):
    m, n = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    acc = tl.zeros((N, N), tl.float32)
    for k0 in range(0, K, B):
        k = k0 + tl.arange(0, B)
        a = tl.load(a_ptr + m * K + k[None, :])
        #~^ ERROR: this load reads past the end of `a_ptr`
        b = tl.load(b_ptr + k[:, None] * N + n)
        #~^ ERROR: this load reads past the end of `b_ptr`
        acc += tl.dot(a, b)
    tl.store(c_ptr + m * N + n, acc)


a, b = np.ones((16, 40), np.float32), np.ones((40, 16), np.float32)
matmul[(1,)](a, b, np.zeros((16, 16), np.float32), 40, N=16, B=16)
