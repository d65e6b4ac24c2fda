"""One array passed twice is two views of one allocation."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x * 2, mask=offs < n)


x = np.ones(100, np.float32)
double[(4,)](x, x, 100, BLOCK=32)
assert (x == 2).all()
