"""Promises that hold."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    stride = tl.multiple_of(stride, 16)
    offs = tl.max_contiguous(tl.multiple_of(tl.arange(0, BLOCK), BLOCK), BLOCK)
    tl.assume(stride > 0)
    x = tl.load(x_ptr + tl.program_id(0) * stride + offs)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x))


row_sum[(2,)](np.ones((2, 32), np.float32), np.zeros(2, np.float32), 32, BLOCK=16)
