"""A value that is undefined only where a branch on something else does not use it."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def tail(x_ptr, out_ptr, n):
    i = tl.program_id(0)
    x = tl.load(x_ptr + i, mask=i < n)
    if i < n:
        if x > 3:
            tl.store(out_ptr + i, x)
    else:
        tl.store(out_ptr + i, 0.0)


tail[(16,)](np.arange(10, dtype=np.float32) + 4, np.zeros(16, np.float32), 10)
