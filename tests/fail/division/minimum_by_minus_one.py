"""The smallest int32 divided by -1 has no int32 result."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def divide(x_ptr, d, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) // d)  #~ ERROR: a quotient


divide[(1,)](np.full(8, -(2**31), np.int32), -1, np.zeros(8, np.int32), BLOCK=8)
