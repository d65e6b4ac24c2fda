"""Pairs of float32 read as one int64, from an odd element: a GPU refuses the address."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pairs(x_ptr, out_ptr, start):
    wide = (x_ptr + start).to(tl.pointer_type(tl.int64))
    tl.store(out_ptr, tl.load(wide))


pairs[(1,)](np.zeros(8, np.int64).view(np.float32), np.zeros(1, np.int64), 3)


# What the tool says:
#
#     error[alignment]: this load of 8 bytes starts 4 bytes past a multiple of 8
#       --> examples/bugs/alignment.py:12:23 in pairs
#     12 |     tl.store(out_ptr, tl.load(wide))
#        |                       ^^^^^^^^^^^^^ misaligned
#        = program instance (0, 0, 0) of grid (1, 1, 1)
#        = `x_ptr` is float32[16]; the first starts at byte 12
#     note: `x_ptr` was passed here
#       --> examples/bugs/alignment.py:15  pairs[(1,)](np.zeros(8, np.int64).view(np.float32), np.zeros(1, np.int64), 3)
#     help: start at a multiple of 8 bytes, or access it in a smaller type and put it together
#     1 error in 1 launch
