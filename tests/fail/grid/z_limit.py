"""batch * heads on z passes 65535 with one more sample."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def mark(out_ptr):
    tl.store(out_ptr + tl.program_id(2), 1)


mark[(1, 1, 65538)](np.zeros(65538, np.int8))
#~^ ERROR: axis z of the grid has 65538 program instances
