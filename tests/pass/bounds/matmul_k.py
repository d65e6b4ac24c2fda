"""The matmul with a mask along K and zeros past it."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, B: tl.constexpr):
    m, n = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    acc = tl.zeros((N, N), tl.float32)
    for k0 in range(0, K, B):
        k = k0 + tl.arange(0, B)
        a = tl.load(a_ptr + m * K + k[None, :], mask=k[None, :] < K, other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + n, mask=k[:, None] < K, other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + m * N + n, acc)


a, b, c = (
    np.ones((16, 40), np.float32),
    np.ones((40, 16), np.float32),
    np.zeros((16, 16), np.float32),
)
matmul[(1,)](a, b, c, 40, N=16, B=16)
assert (c == 40).all()
