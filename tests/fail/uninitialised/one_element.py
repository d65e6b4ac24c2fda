"""A counter from `numpy.empty` of one element."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def count(out_ptr):
    tl.atomic_add(out_ptr, 1)
    #~^ ERROR: this atomic_add updates 4 bytes of `out_ptr` that nothing has written


count[(2,)](np.empty(1, np.int32))
