"""A masked load without `other`, stored without the mask."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x + 1)  #~ ERROR: an undefined value is stored to `out_ptr`


copy[(1,)](np.ones(50, np.float32), np.zeros(64, np.float32), 50, BLOCK=64)
