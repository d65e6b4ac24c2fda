"""17 columns in blocks of 16, but the column index leaves `program_id(1)` out."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + cols, mask=cols < n)
    tl.store(out_ptr + row * n + cols, x, mask=cols < n)


x, out = np.ones((4, 17), np.float32), np.empty((4, 17), np.float32)
copy[(4,)](x, out, 17, BLOCK=16)  #~ WARN: nothing wrote 4 of 68 elements of `out_ptr`
