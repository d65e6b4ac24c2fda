"""A row length that is promised to be a multiple of 16, and is 17."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    stride = tl.multiple_of(stride, 16)
    x = tl.load(x_ptr + tl.program_id(0) * stride + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.program_id(0), tl.sum(x))


row_sum[(2,)](np.ones((2, 17), np.float32), np.zeros(2, np.float32), 17, BLOCK=16)


# What the tool says:
#
#     error[hint]: `multiple_of` promises that the values are multiples of 16, and that is false
#       --> examples/bugs/hint.py:11:14 in row_sum
#     11 |     stride = tl.multiple_of(stride, 16)
#        |              ^^^^^^^^^^^^^^^^^^^^^^^^^^ the values here: 17
#        = program instance (0, 0, 0) of grid (2, 1, 1)
#        = the compiler may build wider loads and drop checks on the strength of it
#     note: launched here
#       --> examples/bugs/hint.py:16  row_sum[(2,)](np.ones((2, 17), np.float32), np.zeros(2, np.float32), 17, BLOCK=16)
#     help: remove the hint, or promise what holds
#     note: seen 2 times, in 2 program instances
#     1 error in 1 launch
