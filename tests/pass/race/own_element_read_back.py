"""A program instance reads what it wrote itself."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pass_on(x_ptr, out_ptr):
    pid = tl.program_id(0)
    tl.store(x_ptr + pid, pid + 1)
    tl.store(out_ptr + pid, tl.load(x_ptr + pid))


out = np.zeros(4, np.int32)
pass_on[(4,)](np.zeros(4, np.int32), out)
assert out.tolist() == [1, 2, 3, 4]
