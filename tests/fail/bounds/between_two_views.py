"""Two arguments lie in one storage; what lies between them was not passed."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)  #~ ERROR: this load reads past the end of `x_ptr`
    tl.store(y_ptr + offs, x, mask=offs < 32)


both = np.zeros(128, np.float32)
copy[(1,)](both[:32], both[64:96], BLOCK=64)
