"""The mean of groups of which one is empty."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def means(total_ptr, count_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    total = tl.load(total_ptr + offs)
    count = tl.load(count_ptr + offs)
    tl.store(out_ptr + offs, total // count)


means[(1,)](np.full(8, 6, np.int32), np.arange(8, dtype=np.int32), np.zeros(8, np.int32), BLOCK=8)


# What the tool says:
#
#     error[division]: a quotient by zero is stored to `out_ptr`
#       --> examples/bugs/division.py:14:5 in means
#     14 |     tl.store(out_ptr + offs, total // count)
#        |                              ^^^^^^^^^^^^^^ divided by zero here
#        |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ element 0 of 8 is undefined
#        = program instance (0, 0, 0) of grid (1, 1, 1)
#        = 6 // 0: the result is not defined
#        = `out_ptr` is int32[8]
#     note: `out_ptr` was passed here
#       --> examples/bugs/division.py:17  means[(1,)](np.full(8, 6, np.int32), np.arange(8, dtype=np.int32), np.zeros(8, np.int32), BLOCK=8)
#     help: total // tl.where(count == 0, 1, count)
#     1 error in 1 launch
