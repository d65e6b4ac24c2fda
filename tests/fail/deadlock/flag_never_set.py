"""Program instance 1 waits for a flag that nobody sets."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def wait(flag_ptr, out_ptr):
    pid = tl.program_id(0)
    if pid == 1:
        while tl.atomic_add(flag_ptr, 0) == 0:
            #~^ ERROR: 1 program instance waits for what no other will do
            pass
    tl.store(out_ptr + pid, 1)


wait[(4,)](np.zeros(1, np.int32), np.zeros(4, np.int32))
