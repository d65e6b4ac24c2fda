"""A branch on a value that masked lanes went into."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def clip(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    if tl.max(x) > 1.0:  #~ ERROR: an undefined value decides this branch
        tl.store(out_ptr, 1.0)
    else:
        tl.store(out_ptr, 0.0)


clip[(1,)](np.ones(50, np.float32), np.zeros(1, np.float32), 50, BLOCK=64)
