"""A length computed in int32 wraps to a negative number: the mask is false everywhere."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, rows, cols, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 1, mask=offs < rows * cols)
    #~^ ERROR: a wrapped integer is used as a mask


fill[(1,)](np.zeros(64, np.int8), 65536, 32768, BLOCK=64)
#~^ NOTE: no program instance touched memory
