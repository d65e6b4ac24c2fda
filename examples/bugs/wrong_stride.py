"""A slice of columns, read as if its rows followed each other.

All bytes that are read belong to the array behind the slice, so no tool that looks at allocations
sees it: the sums are just wrong.
"""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(out_ptr + row, tl.sum(x))


x = np.ones((8, 32), np.float32)[:, :20]
row_sum[(8,)](x, np.zeros(8, np.float32), 20, BLOCK=32)


# What the tool says:
#
#     error[out-of-bounds]: this load reads between the elements of `x_ptr`
#       --> examples/bugs/wrong_stride.py:16:9 in row_sum
#     16 |     x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
#        |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ elements 0..11 of 32 are outside `x_ptr`
#        = program instance (1, 0, 0) of grid (8, 1, 1); the offsets from `x_ptr` there are 20..39
#        = `x_ptr` is float32[8, 20] with strides (32, 1); no index of it reaches offset 20
#        = its mask, `cols < n_cols`, is true there
#     note: `x_ptr` was passed here
#       --> examples/bugs/wrong_stride.py:21  row_sum[(8,)](x, np.zeros(8, np.float32), 20, BLOCK=32)
#     help: step by the strides of `x_ptr`, or pass a contiguous copy
#     note: seen 7 times, in 7 program instances
#     1 error in 1 launch
