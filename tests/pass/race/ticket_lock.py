"""A ticket lock: wait until the ticket is served, then serve the next."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def accumulate(tickets_ptr, serving_ptr, total_ptr):
    ticket = tl.atomic_add(tickets_ptr, 1)
    while tl.atomic_add(serving_ptr, 0) != ticket:
        pass
    tl.store(total_ptr, tl.load(total_ptr) + tl.program_id(0))
    tl.atomic_add(serving_ptr, 1)


total = np.zeros(1, np.int32)
accumulate[(6,)](np.zeros(1, np.int32), np.zeros(1, np.int32), total)
assert total[0] == 15
