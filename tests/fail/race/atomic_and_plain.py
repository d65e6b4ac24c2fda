"""One program instance counts with an atomic, another resets the counter with a plain store."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def count(counter_ptr):
    if tl.program_id(0) == 0:
        tl.store(counter_ptr, 0)
    else:
        tl.atomic_add(counter_ptr, 1)
        #~^ ERROR: `counter_ptr` is updated by an atomic and written by a plain access


count[(4,)](np.zeros(1, np.int32))
