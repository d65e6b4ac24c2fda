"""Ten blocks are launched for eight blocks of work."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add_one(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)


add_one[(10,)](np.zeros(250, np.float32), 250, BLOCK=32)  #~ NOTE: 2 of 10 program instances
