"""A masked load without `other` goes into a sum: the masked lanes hold whatever they hold."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr, tl.sum(x))


row_sum[(1,)](np.ones(50, np.float32), np.zeros(1, np.float32), 50, BLOCK=64)


# What the tool says:
#
#     error[uninitialised]: an undefined value is stored to `out_ptr`
#       --> examples/bugs/undefined_lanes.py:13:5 in row_sum
#     12 |     x = tl.load(x_ptr + offs, mask=offs < n)
#        |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ masked off here, with no `other`
#     13 |     tl.store(out_ptr, tl.sum(x))
#        |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ undefined here
#        = program instance (0, 0, 0) of grid (1, 1, 1)
#        = where the mask of a load is false and `other` is not given, the value is not defined
#        = `out_ptr` is float32[1]
#     note: `out_ptr` was passed here
#       --> examples/bugs/undefined_lanes.py:16  row_sum[(1,)](np.ones(50, np.float32), np.zeros(1, np.float32), 50, BLOCK=64)
#     help: tl.load(x_ptr + offs, mask=offs < n, other=0.0)
#     1 error in 1 launch
