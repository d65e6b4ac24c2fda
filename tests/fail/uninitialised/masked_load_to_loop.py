"""A masked-off scalar bounds a loop."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(n_ptr, out_ptr, have):
    n = tl.load(n_ptr, mask=have > 0)
    acc = 0
    for i in range(n):  #~ ERROR: an undefined value bounds this loop
        acc += i
    tl.store(out_ptr, acc)


total[(1,)](np.full(1, 3, np.int32), np.zeros(1, np.int32), 0)
