"""Two arguments lie in one storage: running out of the first one into the second is no accident."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)  #~ WARN: leaves what was passed as `x_ptr`
    tl.store(out_ptr + offs, x)  #~ ERROR: this store writes past the end of `out_ptr`


both = np.zeros(128, np.float32)
copy[(1,)](both[:32], both[64:96], BLOCK=64)
