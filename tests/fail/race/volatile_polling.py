"""A flag is polled by volatile loads: they see it, but order nothing after them."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def hand_over(data_ptr, flag_ptr, out_ptr):
    if tl.program_id(0) == 0:
        tl.store(data_ptr, 42)
        tl.atomic_xchg(flag_ptr, 1, sem="release")
    else:
        while tl.load(flag_ptr, volatile=True) == 0:
            pass
        tl.store(out_ptr, tl.load(data_ptr))
        #~^ ERROR: `data_ptr` is read and written by two program instances


hand_over[(2,)](np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32))
