"""A mask computed from masked lanes."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def positive(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, 1.0, mask=x > 0)  #~ ERROR: an undefined value is used as a mask


positive[(1,)](np.ones(50, np.float32), np.zeros(64, np.float32), 50, BLOCK=64)
