"""A view with a negative stride starts at its last element in memory, and goes down."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs * stride))


x, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
copy[(1,)](x[::-1], out, -1, BLOCK=16)
assert (out == x[::-1]).all()
