"""A histogram of values up to 16, in 16 bins: the largest value has no bin."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def histogram(x_ptr, bins_ptr, BLOCK: tl.constexpr):
    bins = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.atomic_add(bins_ptr + bins, 1)
    #~^ ERROR: this atomic_add updates past the end of `bins_ptr`


x = np.arange(32, dtype=np.int32) % 17
histogram[(1,)](x, np.zeros(16, np.int32), BLOCK=32)
