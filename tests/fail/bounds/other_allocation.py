"""The distance to another array is added to a pointer: that memory is there, and not `x`'s."""
#~ NUMBERS: vary

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, out_ptr, distance, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    y = tl.load(x_ptr + distance + offs)  #~ ERROR: this load reads past the end of `x_ptr`
    tl.store(out_ptr + offs, y)


x, y = np.zeros(1 << 20, np.float32), np.ones(1 << 20, np.float32)
distance = (y.ctypes.data - x.ctypes.data) // 4
if distance < 0:
    x, y, distance = y, x, -distance
copy[(1,)](x, y, np.zeros(16, np.float32), distance, BLOCK=16)
