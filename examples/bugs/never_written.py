"""17 columns in blocks of 16, and a column index that forgot `program_id(1)`."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n)
    tl.store(out_ptr + row * n + cols, x, mask=cols < n)


x, out = np.ones((4, 17), np.float32), np.empty((4, 17), np.float32)
copy[(4,)](x, out, 17, BLOCK=16)


# What the tool says:
#
#     warning[grid]: nothing wrote 4 of 68 elements of `out_ptr`
#       --> examples/bugs/never_written.py:17:1
#     13 |     tl.store(out_ptr + row * n + cols, x, mask=cols < n)
#        |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this store writes the others
#     17 | copy[(4,)](x, out, 17, BLOCK=16)
#        | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ out_ptr[0, 16] and 3 more elements were never written
#        = `out_ptr` is float32[4, 17]; the grid is (4, 1, 1)
#     help: launch enough program instances to cover it, or allocate with zeros
#     1 warning in 1 launch
