"""A small number that is added to a large one, which is subtracted again, is gone."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def absorb(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    large = tl.load(x_ptr + n) + 1e8
    tl.store(out_ptr + n, large - 1e8)  # here: was rounded away


absorb[(1,)](np.linspace(0.1, 2, 16, dtype=np.float32), np.zeros(16, np.float32), N=16)


# What `blockstep precision` says:
#
#     absorb, grid (1, 1, 1)
#       out_ptr: fp32, off by 1 of its size (rms), at most 1.7e+07 ulps at out_ptr[7]
#
#     examples/precision/absorbed.py    introduced, of the size of the values
#        12 |  1.2e-08 | large = tl.load(x_ptr + n) + 1e8
#           |          | ^ `+` rounds to fp32, by 0.2 ulps at most
#        13 |        0 | tl.store(out_ptr + n, large - 1e8)  # here: was rounded away
#           |          | ^ cancellation: 1e+08 - 1e+08 = 0 loses 24 bits: what was
#           |          |   rounded before stands in the first places (16 elements)
#           |          | ^ `-` gives zero for 0.1: what it is made of was rounded
#           |          |   away (16 elements)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/absorbed.py:12:13: this line computes in fp32
#          gives back all of the error of `out_ptr`: max 2 -> 0, rms 1.2 -> 0
#          help: another formula, or tl.float64 for this line
#       1 other decision would give back less
