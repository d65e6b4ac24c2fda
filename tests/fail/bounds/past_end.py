"""The tail of the last block lies past the end of `x`: the load has no mask."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add_one(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)  #~ ERROR: this load reads past the end of `x_ptr`
    tl.store(out_ptr + offs, x + 1, mask=offs < n)


x, out = np.ones(1000, np.float32), np.zeros(1000, np.float32)
add_one[(8,)](x, out, 1000, BLOCK=128)
