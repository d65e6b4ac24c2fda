"""A size computed in int32 wraps, and decides which way is taken."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def choose(out_ptr, rows, cols):
    if rows * cols > 1000:  #~ ERROR: a wrapped integer decides this branch
        tl.store(out_ptr, 1)
    else:
        tl.store(out_ptr, 2)


choose[(1,)](np.zeros(1, np.int32), 65536, 32768)
