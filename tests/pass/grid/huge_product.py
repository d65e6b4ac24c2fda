"""A grid whose sizes are each allowed, with a product past 2**31."""
#~ FLAGS: --programs 0,0,0;2047,2047,1023

import numpy as np

import triton
import triton.language as tl


@triton.jit
def count(out_ptr):
    tl.atomic_add(out_ptr, 1)


out = np.zeros(1, np.int32)
count[(2048, 2048, 1024)](out)
assert out[0] == 2
