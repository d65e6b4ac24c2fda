"""An offset taken modulo a size that is zero."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def wrap(x_ptr, out_ptr, size, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs % size)  #~ ERROR: a quotient by zero is used as an offset
    tl.store(out_ptr + offs, x)


wrap[(1,)](np.ones(8, np.float32), np.zeros(8, np.float32), 0, BLOCK=8)
