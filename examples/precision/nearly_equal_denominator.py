"""A quotient by the difference of nearly equal numbers that were rounded before."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def slope(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    x, y = tl.load(x_ptr + n), tl.load(y_ptr + n)
    width = tl.exp(y) - tl.exp(x)  # here: cancellation
    tl.store(out_ptr + n, 1.0 / width)


x = np.linspace(1, 2, 16, dtype=np.float32)
slope[(1,)](x, x + np.float32(2e-5), np.zeros(16, np.float32), N=16)


# What `blockstep precision` says:
#
#     slope, grid (1, 1, 1)
#       out_ptr: fp32, off by 0.00245 of its size (rms), at most 8.1e+04 ulps at
#         out_ptr[13]
#
#     examples/precision/nearly_equal_denominator.py    introduced, of the size of the values
#        13 | 4.89e-08 | width = tl.exp(y) - tl.exp(x)  # here: cancellation
#           |          | ^ cancellation: 6.91 - 6.91 = 0.000138 loses 16 bits: what
#           |          |   was rounded before stands in the first places (15
#           |          |   elements)
#        14 | 2.46e-08 | tl.store(out_ptr + n, 1.0 / width)
#           |          | ^ `/` rounds to fp32, by 0.5 ulps at most
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/nearly_equal_denominator.py:13:13: this line computes in
#          fp32
#          gives back all of the error of `out_ptr`: max 76.3 -> 0.000593, rms 29.9 ->
#            0.000293
#          help: another formula, or tl.float64 for this line
#       1 other decision would give back less
