"""`tl.arange` needs a power of two."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)  #~ ERROR: power of 2


fill[(1,)](np.zeros(48, np.float32), BLOCK=48)
