"""Groups of 8 equal values are promised, and groups of 4 given."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def groups(scale_ptr, out_ptr, BLOCK: tl.constexpr):
    group = tl.max_constancy(tl.arange(0, BLOCK) // 4, 8)  #~ ERROR: `max_constancy` promises
    tl.store(out_ptr + tl.arange(0, BLOCK), tl.load(scale_ptr + group))


groups[(1,)](np.ones(8, np.float32), np.zeros(32, np.float32), BLOCK=32)
