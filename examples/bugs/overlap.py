"""A scatter with an index that occurs twice: one of the two values is lost, which one is open."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def scatter(index_ptr, x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offs)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + index, x)


index = np.arange(32, dtype=np.int32) % 30
scatter[(1,)](index, np.arange(32, dtype=np.float32), np.zeros(30, np.float32), BLOCK=32)


# What the tool says:
#
#     error[overlap]: this store writes different values to one element of `out_ptr`
#       --> examples/bugs/overlap.py:14:5 in scatter
#     14 |     tl.store(out_ptr + index, x)
#        |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ elements 0 and 30 of the block both go to out_ptr[0]: 0.0 and 30.0
#        = program instance (0, 0, 0) of grid (1, 1, 1)
#        = which value stays is not defined
#        = 2 elements of `out_ptr` are written more than once
#     note: `out_ptr` was passed here
#       --> examples/bugs/overlap.py:18  scatter[(1,)](index, np.arange(32, dtype=np.float32), np.zeros(30, np.float32), BLOCK=32)
#     help: to add them up:  tl.atomic_add(out_ptr + index, x); else make the offsets distinct
#     1 error in 1 launch
