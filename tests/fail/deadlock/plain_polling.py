"""A flag is polled by a plain load, and set by nobody."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def wait(flag_ptr, out_ptr):
    while tl.load(flag_ptr) == 0:  #~ ERROR: 1 program instance waits for what no other will do
        pass
    tl.store(out_ptr, 1)


wait[(1,)](np.zeros(1, np.int32), np.zeros(1, np.int32))
