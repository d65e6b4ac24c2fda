"""An array without elements has no first one."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def first(x_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr))  #~ ERROR: this load reads past the end of `x_ptr`


first[(1,)](np.zeros(0, np.float32), np.zeros(1, np.float32))
