"""Rotary angles of far positions: the angle is right to 24 bits, its sine is not."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def rotary(inverse_ptr, out_ptr, POSITION, N: tl.constexpr):
    n = tl.arange(0, N)
    angle = POSITION.to(tl.float32) * tl.load(inverse_ptr + n)  # here: rounds to fp32
    tl.store(out_ptr + n, tl.sin(angle))


inverse = (10000.0 ** -(np.arange(16) / 16)).astype(np.float32)
rotary[(1,)](inverse, np.zeros(16, np.float32), 1_000_003, N=16)


# What `blockstep precision` says:
#
#     rotary, grid (1, 1, 1)
#       out_ptr: fp32, off by 0.00401 of its size (rms), at most 1.6e+05 ulps at
#         out_ptr[1]
#
#     examples/precision/rotary_angle.py    introduced, of the size of the values
#        12 | 1.74e-08 | angle = POSITION.to(tl.float32) * tl.load(inverse_ptr + n) …
#           |          | ^ `*` rounds to fp32, by 0.5 ulps at most
#        13 | 1.79e-08 | tl.store(out_ptr + n, tl.sin(angle))
#           |          | ^ `sin` rounds to fp32, by 0.7 ulps at most
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/rotary_angle.py:12:13: this line computes in fp32
#          gives back all of the error of `out_ptr`: max 0.00941 -> 2.98e-08, rms
#            0.00269 -> 1.58e-08
#          help: another formula, or tl.float64 for this line
#       1 other decision would give back less
