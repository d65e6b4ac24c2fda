"""A float32 array is read as int64, one element further: 4 bytes past a multiple of 8."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pairs(x_ptr, out_ptr):
    wide = (x_ptr + 1).to(tl.pointer_type(tl.int64))
    x = tl.load(wide)  #~ ERROR: this load of 8 bytes starts 4 bytes past a multiple of 8
    tl.store(out_ptr, x)


pairs[(1,)](np.ones(8, np.int64).view(np.float32), np.zeros(1, np.int64))
