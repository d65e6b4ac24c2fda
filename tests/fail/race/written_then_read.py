"""Program instance 1 reads what program instance 0 writes, with no flag between."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pass_on(x_ptr, out_ptr):
    pid = tl.program_id(0)
    tl.store(x_ptr + pid, pid + 1)
    if pid > 0:
        before = tl.load(x_ptr + pid - 1)
        #~^ ERROR: `x_ptr` is read and written by two program instances
        tl.store(out_ptr + pid, before)


pass_on[(4,)](np.zeros(4, np.int32), np.zeros(4, np.int32))
