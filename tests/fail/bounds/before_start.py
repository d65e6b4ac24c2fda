"""The element before: the first one has none, and `tl.where` does not stop a load."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def difference(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    before = tl.load(x_ptr + offs - 1)  #~ ERROR: this load reads before the start of `x_ptr`
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x - tl.where(offs > 0, before, 0.0))


difference[(1,)](np.ones(64, np.float32), np.zeros(64, np.float32), BLOCK=64)
