"""Every second element, promised to come in runs of 16."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def evens(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.max_contiguous(tl.arange(0, BLOCK) * 2, 16)  #~ ERROR: `max_contiguous` promises
    tl.store(out_ptr + tl.arange(0, BLOCK), tl.load(x_ptr + offs))


evens[(1,)](np.ones(64, np.float32), np.zeros(32, np.float32), BLOCK=32)
