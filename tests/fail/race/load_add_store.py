"""Every program instance adds its part to one element, by a load, an addition and a store."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, total_ptr, BLOCK: tl.constexpr):
    s = tl.sum(tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)))
    old = tl.load(total_ptr)
    tl.store(total_ptr, old + s)
    #~^ ERROR: `total_ptr` is read and written by two program instances


sum_kernel[(4,)](np.ones(256, np.float32), np.zeros(1, np.float32), BLOCK=64)
