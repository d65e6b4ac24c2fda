"""Memory from `numpy.empty` that the host, or a launch before, has filled."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))


x, y, z = (
    np.empty(32, np.float32),
    np.empty(32, np.float32),
    np.empty_like(np.zeros(32, np.float32)),
)
x[:] = np.arange(32)
copy[(1,)](x, y, BLOCK=32)
copy[(1,)](y, z, BLOCK=32)
assert (z == x).all()
