"""The tail: 1000 elements in blocks of 128, and a load without a mask.

On a GPU this reads whatever lies behind the array, and faults only where nothing does.
"""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    y = tl.load(y_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x + y, mask=offs < n)


x, y = np.ones(1000, np.float32), np.ones(1000, np.float32)
out = np.empty(1000, np.float32)
add[(8,)](x, y, out, 1000, BLOCK=128)


# What the tool says:
#
#     error[out-of-bounds]: this load reads past the end of `x_ptr`
#       --> examples/bugs/out_of_bounds.py:15:9 in add
#     15 |     x = tl.load(x_ptr + offs)
#        |         ^^^^^^^^^^^^^^^^^^^^^ elements 104..127 of 128 are outside `x_ptr`
#        = program instance (7, 0, 0) of grid (8, 1, 1); offs there is 896..1023
#        = `x_ptr` is float32[1000]; the first element out of range is 1000 (byte 4000 of 4000)
#     note: `x_ptr` was passed here
#       --> examples/bugs/out_of_bounds.py:22  add[(8,)](x, y, out, 1000, BLOCK=128)
#     help: mask the tail:  tl.load(x_ptr + offs, mask=offs < n)        # n = 1000 here
#     1 error in 1 launch
