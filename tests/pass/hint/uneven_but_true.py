"""Hints that hold: a stride of 1, a constant run, contiguous halves, and an assumption on ids."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    tl.assume(tl.program_id(0) >= 0)
    tl.assume(stride % 8 == 0)
    offs = tl.multiple_of(tl.program_id(0) * stride, 8) + tl.arange(0, BLOCK)
    group = tl.max_constancy(tl.arange(0, BLOCK) // 8, 8)
    half = tl.max_contiguous(tl.arange(0, BLOCK) % 16, 16)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) + group + half)


rows[(2,)](np.ones(80, np.float32), np.zeros(80, np.float32), 40, BLOCK=32)
