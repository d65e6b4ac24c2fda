"""`None` is passed for an array, and tested."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add_bias(x_ptr, bias_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    if bias_ptr is not None:
        x += tl.load(bias_ptr + offs)
    tl.store(out_ptr + offs, x)


add_bias[(1,)](np.zeros(16, np.float32), None, np.zeros(16, np.float32), BLOCK=16)
