"""A block of 48 elements: the language has powers of two only."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)


fill[(1,)](np.zeros(48, np.float32), BLOCK=48)


# What the tool says:
#
#     error[compile]: arange's range must be a power of 2, but BLOCK is 48: take 64 (triton.next_power_of_2(BLOCK)) and mask what is too much
#       --> examples/bugs/compile.py:11:24 in fill
#     11 |     tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)
#        |                        ^^^^^^^^^^^^^^^^^^^
#     note: launched here
#       --> examples/bugs/compile.py:14  fill[(1,)](np.zeros(48, np.float32), BLOCK=48)
#     1 error in 1 launch
