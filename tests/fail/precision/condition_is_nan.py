"""NaN itself is the condition, and counts as true."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def scale(x_ptr, out_ptr):
    x = tl.load(x_ptr)
    y = x - x
    if y:
        #~^ WARN: NaN decides this branch
        tl.store(out_ptr, 1.0)


scale[(1,)](np.full(1, np.inf, np.float32), np.zeros(1, np.float32))
