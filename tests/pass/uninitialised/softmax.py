"""A softmax whose masked lanes are minus infinity."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, out_ptr, stride, n, BLOCK: tl.constexpr):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + cols, e / tl.sum(e, axis=0), mask=cols < n)


x = np.random.default_rng(0).standard_normal((4, 50), np.float32)
out = np.empty_like(x)
softmax[(4,)](x, out, 50, 50, BLOCK=64)
assert np.allclose(out.sum(1), 1)
