"""Elements are appended in the order in which the program instances come."""
#~ FLAGS: --seeds 8

import numpy as np

import triton
import triton.language as tl


@triton.jit
def append(count_ptr, out_ptr):
    at = tl.atomic_add(count_ptr, 1)
    tl.store(out_ptr + at, tl.program_id(0))


append[(8,)](np.zeros(1, np.int32), np.zeros(8, np.int32))
#~^ WARN: `out_ptr` depends on the order of program instances
