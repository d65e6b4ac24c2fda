"""A pointer is promised to be a multiple of 8 elements, and starts at the third."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x_ptr = tl.multiple_of(x_ptr, 8)  #~ ERROR: `multiple_of` promises
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))


x = np.zeros(72, np.float32)
start = (-x.ctypes.data // 4) % 16 + 3
copy[(1,)](x[start : start + 32], np.zeros(32, np.float32), BLOCK=32)
