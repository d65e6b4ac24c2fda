"""The load stands in a branch that only program instances with elements of their own take."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, n):
    i = tl.program_id(0)
    if i < n:
        tl.store(out_ptr + i, tl.load(x_ptr + i))
    elif i == n:
        tl.store(out_ptr + i, 0.0)


out = np.ones(11, np.float32)
copy[(11,)](np.ones(10, np.float32), out, 10)
assert out.tolist() == [1.0] * 10 + [0.0]
