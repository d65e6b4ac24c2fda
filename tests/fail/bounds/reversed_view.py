"""A reversed view, walked upwards from its first element: it ends there."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)  #~ ERROR: this load reads past the end of `x_ptr`
    tl.store(out_ptr + offs, x)


x = np.arange(16, dtype=np.float32)
copy[(1,)](x[::-1], np.zeros(16, np.float32), BLOCK=16)
