"""Two arguments lie in one storage: running out of the first into the second may be meant."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)  #~ WARN: this load leaves what was passed as `x_ptr`
    y = tl.load(y_ptr + tl.arange(0, 32))
    tl.store(out_ptr + offs, x + tl.sum(y))


both = np.zeros(64, np.float32)
copy[(1,)](both[:32], both[32:], np.zeros(64, np.float32), BLOCK=64)
