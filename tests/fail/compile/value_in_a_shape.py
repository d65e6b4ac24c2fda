"""The size of a block must be a constexpr."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, n):
    tl.store(out_ptr + tl.arange(0, n), 1.0)  #~ ERROR: constexpr


fill[(1,)](np.zeros(32, np.float32), 32)
