"""A store without a mask writes past the end of `out`."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 1.0)  #~ ERROR: this store writes past the end of `out_ptr`


fill[(2,)](np.zeros(100, np.float32), BLOCK=64)
