"""A cumulative sum carries undefined lanes to all lanes after them."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def running(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs >= n)
    tl.store(out_ptr + offs, tl.cumsum(x), mask=offs >= n)
    #~^ ERROR: an undefined value is stored to `out_ptr`


running[(1,)](np.ones(64, np.float32), np.zeros(64, np.float32), 8, BLOCK=64)
