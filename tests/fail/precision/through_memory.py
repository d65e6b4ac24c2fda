"""A later program instance reads the NaN that an earlier one stored: its birth is still told."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def running(x_ptr, state_ptr, out_ptr):
    pid = tl.program_id(0)
    if pid == 0:
        tl.store(state_ptr, tl.sqrt(tl.load(x_ptr)))
        #~^ WARN: this store writes NaN to `state_ptr`
        tl.atomic_xchg(state_ptr + 1, 1.0)
    else:
        while tl.atomic_add(state_ptr + 1, 0.0) == 0.0:
            pass
        tl.store(out_ptr, tl.load(state_ptr) + 1.0)
        #~^ WARN: this store writes NaN to `out_ptr`


running[(2,)](np.full(1, -4.0, np.float32), np.zeros(2, np.float32), np.zeros(1, np.float32))
