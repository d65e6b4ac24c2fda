"""A `static_assert` that is false."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= 64, "BLOCK is too small")  #~ ERROR: BLOCK is too small
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)


fill[(1,)](np.zeros(32, np.float32), BLOCK=32)
