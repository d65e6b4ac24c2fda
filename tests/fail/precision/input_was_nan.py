"""The NaN came in with the data."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x * 2.0, mask=offs < n)
    #~^ WARN: this store writes NaN to `out_ptr`


x = np.ones((3, 4), np.float32)
x[1, 1] = np.nan
double[(2,)](x, np.zeros((3, 4), np.float32), 12, BLOCK=8)
