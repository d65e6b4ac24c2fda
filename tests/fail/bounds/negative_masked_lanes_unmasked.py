"""A convolution: the offset left of the image is negative, and its mask looks to the right only."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def shift(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for tap in range(3):
        at = offs + tap - 1
        acc += tl.load(x_ptr + at, mask=at < n, other=0.0)
        #~^ ERROR: before the start of `x_ptr`
    tl.store(out_ptr + offs, acc, mask=offs < n)


shift[(1,)](np.ones(60, np.float32), np.zeros(60, np.float32), 60, BLOCK=64)
