"""A 32-bit number is shifted by 32 and more."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def bits(out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 1 << offs)
    #~^ ERROR: the result of a shift past the width is stored to `out_ptr`


bits[(1,)](np.zeros(64, np.int32), BLOCK=64)
