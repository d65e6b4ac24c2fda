"""NaN becomes an integer."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def convert(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs).to(tl.int32))
    #~^ WARN: nan does not fit int32


convert[(1,)](np.array([1, np.nan, 2, 3], np.float32), np.zeros(4, np.int32), BLOCK=4)
