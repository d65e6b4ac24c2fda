"""A block is stored and the same block, under the same mask, loaded again."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def twice(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)
    x = tl.load(out_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x * 2, mask=offs < n)


out = np.zeros(50, np.float32)
twice[(1,)](np.ones(50, np.float32), out, 50, BLOCK=64)
assert (out == 2).all()
