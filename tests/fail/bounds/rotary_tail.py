"""Rotary embedding: the second half of each head is loaded with the mask of the whole head."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def rotate(x_ptr, cos_ptr, out_ptr, D, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < D, other=0.0)
    cos = tl.load(cos_ptr + cols, mask=cols < D, other=0.0)
    #~^ ERROR: this load reads past the end of `cos_ptr`
    tl.store(out_ptr + cols, x * cos, mask=cols < D)


rotate[(1,)](
    np.ones(48, np.float32), np.ones(24, np.float32), np.zeros(48, np.float32), 48, BLOCK=64
)
