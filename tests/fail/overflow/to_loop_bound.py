"""The number of iterations wraps."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def count(out_ptr, rows, cols):
    n = 0
    for _ in range(rows * cols):  #~ ERROR: a wrapped integer bounds this loop
        n += 1
    tl.store(out_ptr, n)


count[(1,)](np.zeros(1, np.int32), 65536, 65536)
