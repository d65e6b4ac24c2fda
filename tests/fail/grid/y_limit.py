"""The long axis of a copy is on `program_id(1)`: y has at most 65535."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr):
    i = tl.program_id(1)
    tl.store(out_ptr + i, tl.load(x_ptr + i))


copy[(1, 65536)](np.zeros(65536, np.int8), np.zeros(65536, np.int8))
#~^ ERROR: axis y of the grid has 65536 program instances
