"""A block is reversed in place: one lane may store before another has loaded."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def reverse(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + BLOCK - 1 - offs)
    tl.store(x_ptr + offs, x)  #~ WARN: this store writes over what the same program instance read from `x_ptr`


reverse[(1,)](np.arange(64, dtype=np.float32), BLOCK=64)
