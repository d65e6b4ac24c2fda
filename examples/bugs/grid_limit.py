"""The long axis of a copy on `program_id(1)`: hardware takes 65535 there."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr):
    i = tl.program_id(1)
    tl.store(out_ptr + i, tl.load(x_ptr + i))


copy[(1, 100000)](np.zeros(100000, np.int8), np.zeros(100000, np.int8))


# What the tool says:
#
#     error[grid]: axis y of the grid has 100000 program instances, and NVIDIA H200 allows 65535
#       --> examples/bugs/grid_limit.py:15:1
#     15 | copy[(1, 100000)](np.zeros(100000, np.int8), np.zeros(100000, np.int8))
#        | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ 100000 is 34465 too many
#        = the grid is (1, 100000, 1)
#     help: put the long axis on program_id(0), which may reach 2147483647, or loop in the kernel
#     1 error in 1 launch
