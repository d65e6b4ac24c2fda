"""Indices computed in float32: past 2^24 odd ones do not exist."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def places(out_ptr, FIRST, N: tl.constexpr):
    n = tl.arange(0, N)
    place = (FIRST + n).to(tl.float32)  # here: rounds to fp32
    tl.store(out_ptr + n, place * 2.0)


places[(1,)](np.zeros(16, np.float32), (1 << 24) + 1, N=16)


# What `blockstep precision` says:
#
#     places, grid (1, 1, 1)
#       out_ptr: fp32, off by 4.21e-08 of its size (rms), at most 0.5 ulps at
#         out_ptr[0]
#
#     examples/precision/index_in_float.py    introduced, of the size of the values
#        12 | 4.21e-08 | place = (FIRST + n).to(tl.float32)  # here: rounds to fp32
#           |          | ^ the cast rounds to fp32, by 0.5 ulps at most
