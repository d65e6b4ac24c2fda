"""Rows that are summed with the stride that was passed."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    tl.store(out_ptr + row, tl.sum(tl.load(x_ptr + row * stride + cols)))


x, out = np.ones((4, 16), np.float32), np.zeros(4, np.float32)
row_sum[(4,)](x, out, x.strides[0] // 4, BLOCK=16)
assert (out == 16).all()
