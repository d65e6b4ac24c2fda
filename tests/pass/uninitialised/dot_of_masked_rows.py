"""Masked rows of `a` reach masked rows of the product only."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N: tl.constexpr):
    m, n, k = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :], tl.arange(0, N)
    a = tl.load(a_ptr + m * N + k[None, :], mask=m < M)
    b = tl.load(b_ptr + k[:, None] * N + n)
    tl.store(c_ptr + m * N + n, tl.dot(a, b), mask=m < M)


a, b, c = (
    np.ones((10, 16), np.float32),
    np.ones((16, 16), np.float32),
    np.zeros((10, 16), np.float32),
)
matmul[(1,)](a, b, c, 10, N=16)
assert (c == 16).all()
