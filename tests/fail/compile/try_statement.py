"""The language has no `try`."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr):
    try:  #~ ERROR: try
        tl.store(out_ptr, 1.0)
    except ValueError:
        tl.store(out_ptr, 2.0)


fill[(1,)](np.zeros(1, np.float32))
