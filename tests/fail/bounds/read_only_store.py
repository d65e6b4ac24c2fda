"""A kernel stores to an array that may not be written."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)  #~ ERROR: read-only


out = np.zeros(32, np.float32)
out.flags.writeable = False
fill[(1,)](out, BLOCK=32)
