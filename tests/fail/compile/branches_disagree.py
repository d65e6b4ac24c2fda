"""A variable has another type on each path of an `if`; only one path ever runs."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pick(out_ptr, n):
    if n > 1:  #~ ERROR: Mismatched type for x
        x = 2
    else:
        x = 1.5
    tl.store(out_ptr, x)


pick[(1,)](np.zeros(1, np.float32), 5)
