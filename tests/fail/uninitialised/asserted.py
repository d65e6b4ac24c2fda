"""An assertion about lanes that are not defined."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def check(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.device_assert(x >= 0, "negative")  #~ ERROR: an undefined value is asserted
    tl.store(out_ptr + offs, x, mask=offs < n)


check[(1,)](np.ones(50, np.float32), np.zeros(50, np.float32), 50, BLOCK=64)
