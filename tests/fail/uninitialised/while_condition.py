"""A `while` goes on as long as an undefined value says."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def search(x_ptr, out_ptr, have):
    x = tl.load(x_ptr, mask=have > 0)
    steps = 0
    while x > steps:  #~ ERROR: an undefined value decides this branch
        steps += 1
    tl.store(out_ptr, steps)


search[(1,)](np.full(1, 3, np.int32), np.zeros(1, np.int32), 0)
