"""Scratch memory is NaN before the launch, and is overwritten before it is read."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def twice(x_ptr, scratch_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(scratch_ptr + at, tl.load(x_ptr + at))
    tl.debug_barrier()
    tl.store(out_ptr + at, tl.load(scratch_ptr + at) * 2.0)


x = np.ones(4, np.float32)
twice[(1,)](x, np.full(4, np.nan, np.float32), np.zeros(4, np.float32), BLOCK=4)
