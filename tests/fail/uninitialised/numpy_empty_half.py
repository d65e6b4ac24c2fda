"""Half of the array is filled by the host; the rest is read as if it were."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    #~^ ERROR: this load reads 8 bytes of `x_ptr` that nothing has written
    tl.store(out_ptr, tl.sum(x))


x = np.empty(8, np.float16)
x[:4] = 1
total[(1,)](x, np.zeros(1, np.float16), BLOCK=8)
