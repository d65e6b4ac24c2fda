"""A barrier over the whole grid waits for one arrival more than there are program instances."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def barrier(arrived_ptr, out_ptr, P):
    tl.atomic_add(arrived_ptr, 1)
    while tl.atomic_add(arrived_ptr, 0) < P:
        #~^ ERROR: 4 program instances wait for what no other will do
        pass
    tl.store(out_ptr + tl.program_id(0), 1)


barrier[(4,)](np.zeros(1, np.int32), np.zeros(4, np.int32), 5)
