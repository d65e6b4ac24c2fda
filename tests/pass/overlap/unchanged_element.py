"""A padded tail is stored again with the value that it has."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pad(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n, other=0.0))
    tail = n + tl.arange(0, 16)
    tl.store(out_ptr + tail, 0.0, mask=tail < BLOCK)


pad[(1,)](np.ones(50, np.float32), np.empty(64, np.float32), 50, BLOCK=64)
