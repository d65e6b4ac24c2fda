"""An elementwise operation in place: every element is read and written by one program instance."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=mask) * 2, mask=mask)


x = np.ones(100, np.float32)
scale[(4,)](x, 100, BLOCK=32)
assert (x == 2).all()
