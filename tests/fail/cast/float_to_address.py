"""A position computed in floats, far outside int32, is used as an offset."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def sample(x_ptr, at_ptr, out_ptr):
    at = tl.load(at_ptr).to(tl.int32)
    tl.store(out_ptr, tl.load(x_ptr + at))
    #~^ WARN: 1e+10 does not fit int32, and 2147483647 is used as an offset


sample[(1,)](np.ones(8, np.float32), np.array([1e10], np.float32), np.zeros(1, np.float32))
