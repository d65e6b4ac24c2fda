"""A row sum that takes the number of columns for the row stride, given a slice of columns."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    #~^ ERROR: between the elements of `x_ptr`
    tl.store(out_ptr + row, tl.sum(x))


x = np.ones((8, 32), np.float32)[:, :20]
row_sum[(8,)](x, np.zeros(8, np.float32), 20, BLOCK=32)
