"""A float quotient by zero is infinite, and defined."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def ratio(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 1.0 / tl.load(x_ptr + offs))


out = np.zeros(4, np.float32)
ratio[(1,)](np.array([0, 1, 2, 4], np.float32), out, BLOCK=4)
assert np.isinf(out[0]) and out[3] == 0.25
