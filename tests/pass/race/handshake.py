"""Program instance 0 waits for program instance 1, which publishes data under a flag."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def hand_over(data_ptr, flag_ptr, out_ptr):
    if tl.program_id(0) == 1:
        tl.store(data_ptr, 42)
        tl.atomic_xchg(flag_ptr, 1, sem="release")
    else:
        while tl.atomic_add(flag_ptr, 0, sem="acquire") == 0:
            pass
        tl.store(out_ptr, tl.load(data_ptr))


out = np.zeros(1, np.int32)
hand_over[(2,)](np.zeros(1, np.int32), np.zeros(1, np.int32), out)
assert out[0] == 42
