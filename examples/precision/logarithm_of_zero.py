"""A cross entropy by way of probabilities: the exponential underflows, and log(0) is -inf."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def log_softmax(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    x = tl.load(x_ptr + n)
    e = tl.exp(x - tl.max(x, 0))  # here: underflows to zero
    tl.store(out_ptr + n, tl.log(e / tl.sum(e, 0)))


log_softmax[(1,)](np.linspace(0, 200, 16, dtype=np.float32), np.zeros(16, np.float32), N=16)


# What `blockstep precision` says:
#
#     log_softmax, grid (1, 1, 1)
#       out_ptr: fp32 (8 infinite of 16 elements), off by 4.34e-08 of its size (rms),
#         at most 4.3e+05 ulps at out_ptr[15]
#
#     examples/precision/logarithm_of_zero.py    introduced, of the size of the values
#        13 | 2.41e-08 | e = tl.exp(x - tl.max(x, 0))  # here: underflows to zero
#           |          | ^ tl.exp underflows to zero: 1.38e-87 is too small for fp32
#           |          |   (8 elements)
#           |          | ^ tl.exp gives subnormal numbers, which have fewer bits (1
#           |          |   element)
#        14 | 4.93e-08 | tl.store(out_ptr + n, tl.log(e / tl.sum(e, 0)))
#           |          | ^ infinity is born: log(0) = -inf, and would be -200 without
#           |          |   rounding (8 elements)
#           |          | ^ `/` gives subnormal numbers, which have fewer bits (1
#           |          |   element)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/logarithm_of_zero.py:13:9: this line computes in fp32
#          gives back all of the error of `out_ptr`: NaN or Inf in 8 -> 0 elements,
#            max 6.01e-06 -> 7.34e-06, rms 1.71e-06 -> 2.83e-06
#          help: another formula, or tl.float64 for this line
#       2 other decisions would give back less
