"""Both loads are masked by the longer length, but `y` is every other element: half as many."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, y_stride, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs * y_stride, mask=mask)  #~ ERROR: reads past the end of `y_ptr`
    tl.store(out_ptr + offs, x + y, mask=mask)


n = 100
x, y, out = np.ones(n, np.float32), np.ones(n, np.float32)[::2], np.zeros(n, np.float32)
add[(1,)](x, y, out, n, 2, BLOCK=128)
