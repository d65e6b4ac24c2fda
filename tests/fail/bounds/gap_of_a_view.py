"""A column is passed, and read as if its elements were neighbours."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)  #~ ERROR: reads between the elements of `x_ptr`
    tl.store(out_ptr + offs, x, mask=offs < n)


column = np.ones((16, 16), np.float32)[:, 3]
copy[(1,)](column, np.zeros(16, np.float32), 16, BLOCK=16)
