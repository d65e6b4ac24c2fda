"""`other` is itself undefined where it is used."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def merge(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    y = tl.load(y_ptr + offs, mask=offs < n)
    x = tl.load(x_ptr + offs, mask=offs < n, other=y)
    tl.store(out_ptr + offs, x)  #~ ERROR: an undefined value is stored to `out_ptr`


merge[(1,)](
    np.ones(50, np.float32), np.ones(50, np.float32), np.empty(64, np.float32), 50, BLOCK=64
)
