"""The old value that the atomic gives back is used, not a load of its own."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def count(counter_ptr, out_ptr):
    ticket = tl.atomic_add(counter_ptr, 1)
    tl.store(out_ptr + ticket, tl.program_id(0))


out = np.zeros(4, np.int32)
count[(4,)](np.zeros(1, np.int32), out)
assert sorted(out) == [0, 1, 2, 3]
