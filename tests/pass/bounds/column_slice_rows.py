"""The row sum with the stride of the slice."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, out_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(x))


x, out = np.ones((8, 32), np.float32)[:, :20], np.zeros(8, np.float32)
row_sum[(8,)](x, out, 32, 20, BLOCK=32)
assert (out == 20).all()
