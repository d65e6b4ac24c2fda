"""A row number times a row length, in int32: it wraps at row 65536.

The array has 2.3 GB, of which the kernel touches 64 bytes: no memory is needed to find this.
"""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy_rows(rows_ptr, x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    row = tl.load(rows_ptr + tl.program_id(0))
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols)
    tl.store(out_ptr + tl.program_id(0) * BLOCK + cols, x)


x = np.empty((70001, 32768), np.int8)
x[5] = 1
copy_rows[(2,)](np.array([5, 70000], np.int32), x, np.zeros(128, np.int8), 32768, BLOCK=64)


# What the tool says:
#
#     error[overflow]: a wrapped integer is used as an offset
#       --> examples/bugs/overflow.py:16:9 in copy_rows
#     16 |     x = tl.load(x_ptr + row * stride + cols)
#        |                         ^^^^^^^^^^^^ it wraps around here
#        |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ all 64 elements are wrapped
#        = program instance (1, 0, 0) of grid (2, 1, 1)
#        = 70000 * 32768 = 2293760000 does not fit int32 and became -2001207296
#        = `x_ptr` is int8[70001, 32768]
#     note: `x_ptr` was passed here
#       --> examples/bugs/overflow.py:22  copy_rows[(2,)](np.array([5, 70000], np.int32), x, np.zeros(128, np.int8), 32768, BLOCK=64)
#     help: row.to(tl.int64) * stride
#     1 error in 1 launch
