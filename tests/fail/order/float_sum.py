"""A sum of floats by atomics depends on the order, in its last bits."""
#~ FLAGS: --seeds 8

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr):
    tl.atomic_add(out_ptr, tl.load(x_ptr + tl.program_id(0)))


x = np.array([1, 1e8, -1e8, 3, 1e-3, 7e5, -7e5, 0.1], np.float32)
total[(8,)](x, np.zeros(1, np.float32))
#~^ WARN: `out_ptr` depends on the order of program instances
