"""The row stride is promised to be a multiple of 16, and is 17."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    stride = tl.multiple_of(stride, 16)  #~ ERROR: `multiple_of` promises
    x = tl.load(x_ptr + tl.program_id(0) * stride + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.program_id(0), tl.sum(x))


row_sum[(2,)](np.ones((2, 17), np.float32), np.zeros(2, np.float32), 17, BLOCK=16)
