"""A counter is read by a plain load while others still add to it."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def count(counter_ptr, out_ptr):
    pid = tl.program_id(0)
    tl.atomic_add(counter_ptr, 1)
    #~^ ERROR: `counter_ptr` is updated by an atomic and read by a plain access
    tl.store(out_ptr + pid, tl.load(counter_ptr))


count[(4,)](np.zeros(1, np.int32), np.zeros(4, np.int32))
