"""A scalar argument is NaN."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def scale(x_ptr, out_ptr, factor, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * factor)
    #~^ WARN: this store writes NaN to `out_ptr`


scale[(1,)](np.ones(4, np.float32), np.zeros(4, np.float32), float("nan"), BLOCK=4)
