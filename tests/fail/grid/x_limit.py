"""x has at most 2**31 - 1."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def mark(out_ptr):
    tl.store(out_ptr + tl.program_id(0).to(tl.int64), 1)


mark[(2**31,)](np.empty(2**31, np.int8))
#~^ ERROR: axis x of the grid has 2147483648 program instances
