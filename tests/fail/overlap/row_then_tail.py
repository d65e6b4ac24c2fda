"""A whole row is stored, then its tail again: either store may come last."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pad(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))
    tail = n + tl.arange(0, 16)
    tl.store(out_ptr + tail, -1.0, mask=tail < BLOCK)
    #~^ ERROR: two stores of one program instance write different values to `out_ptr`


pad[(1,)](np.ones(64, np.float32), np.zeros(64, np.float32), 50, BLOCK=64)
