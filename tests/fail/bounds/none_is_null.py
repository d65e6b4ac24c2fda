"""`None` is passed for an array, and not tested."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add_bias(x_ptr, bias_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    bias = tl.load(bias_ptr + offs)  #~ ERROR: None
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) + bias)


add_bias[(1,)](np.zeros(16, np.float32), None, np.zeros(16, np.float32), BLOCK=16)
