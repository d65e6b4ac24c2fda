"""Shifted right by the width: on a GPU that is not zero by definition."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def high(x_ptr, out_ptr, by, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) >> by)
    #~^ ERROR: the result of a shift past the width is stored to `out_ptr`


high[(1,)](np.ones(32, np.int32), np.zeros(32, np.int32), 32, BLOCK=32)
