"""An accumulator from `numpy.empty` of which only one half was filled."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def accumulate(x_ptr, acc_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.load(acc_ptr + offs)
    tl.store(acc_ptr + offs, acc + tl.load(x_ptr + offs))


acc = np.empty(8, np.float16)
acc[:4] = 1
accumulate[(1,)](np.ones(8, np.float16), acc, BLOCK=8)


# What the tool says:
#
#     error[uninitialised]: this load reads 8 bytes of `acc_ptr` that nothing has written
#       --> examples/bugs/unwritten_memory.py:12:11 in accumulate
#     12 |     acc = tl.load(acc_ptr + offs)
#        |           ^^^^^^^^^^^^^^^^^^^^^^^ elements 4..7 of 8
#        = program instance (0, 0, 0) of grid (1, 1, 1)
#        = `acc_ptr` float16[8], from numpy.empty at examples/bugs/unwritten_memory.py:16:   00 3c 00 3c 00 3c 00 3c __ __ __ __ __ __ __ __
#     note: `acc_ptr` was passed here
#       --> examples/bugs/unwritten_memory.py:18  accumulate[(1,)](np.ones(8, np.float16), acc, BLOCK=8)
#     help: store before loading, or allocate with zeros
#     1 error in 1 launch
