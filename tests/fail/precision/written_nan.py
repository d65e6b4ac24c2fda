"""The kernel fills with NaN itself."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def fill(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=float("nan"))
    tl.store(out_ptr + at, x)
    #~^ WARN: this store writes NaN to `out_ptr`


fill[(1,)](np.ones(3, np.float32), np.zeros(4, np.float32), 3, BLOCK=4)
