"""A branch needs a scalar: a block has many truths."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def clip(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    if x > 0:  #~ ERROR: more than one value is ambiguous
        tl.store(out_ptr, 1.0)


clip[(1,)](np.zeros(32, np.float32), np.zeros(1, np.float32), BLOCK=32)
