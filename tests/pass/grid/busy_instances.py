"""The last block has one element of work."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add_one(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)


add_one[(triton.cdiv(225, 32),)](np.zeros(225, np.float32), 225, BLOCK=32)
