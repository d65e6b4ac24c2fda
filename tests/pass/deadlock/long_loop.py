"""A loop of many rounds over one atomic is no deadlock: each round changes it."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def count(out_ptr):
    while tl.atomic_add(out_ptr, 1) < 2000:
        pass


out = np.zeros(1, np.int32)
count[(2,)](out)
assert out[0] == 2002
