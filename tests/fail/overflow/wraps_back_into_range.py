"""Both factors are wrong, but the wrapped offset lies inside: only the wrap itself tells."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pick(x_ptr, out_ptr, row, stride):
    tl.store(out_ptr, tl.load(x_ptr + row * stride))
    #~^ ERROR: a wrapped integer is used as an offset


pick[(1,)](np.ones(64, np.float32), np.zeros(1, np.float32), 65536, 65537 - 1)
