"""A variance as E[x^2] - E[x]^2 of numbers far from zero: their difference has few right bits left."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def variance(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    mean = tl.sum(x, 0) / N
    square = tl.sum(x * x, 0) / N
    tl.store(out_ptr, square - mean * mean)  # here: cancellation


random = np.random.default_rng(0)
variance[(1,)](random.normal(1000, 1, 1024).astype(np.float32), np.zeros(1, np.float32), N=1024)


# What `blockstep precision` says:
#
#     variance, grid (1, 1, 1)
#       out_ptr: fp32, off by 0.00743 of its size (rms), at most 1.2e+05 ulps at
#         out_ptr[0]
#
#     examples/precision/variance.py    introduced, of the size of the values
#        12 | 2.86e-09 | mean = tl.sum(x, 0) / N
#           |          | ^ the reduction rounds to fp32, by 0.0 ulps at most
#        13 | 1.79e-08 | square = tl.sum(x * x, 0) / N
#           |          | ^ `*` rounds to fp32, by 0.5 ulps at most
#        14 | 1.13e-08 | tl.store(out_ptr, square - mean * mean)  # here: cancellati…
#           |          | ^ cancellation: 1e+06 - 1e+06 = 0.938 loses 20 bits: what
#           |          |   was rounded before stands in the first places (1 element)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/variance.py:12:12: a sum over `x` kept in fp32
#          gives back 79% of the error of `out_ptr`: max 0.00702 -> 0.00149, rms
#            0.00702 -> 0.00149
#          help: tl.sum(x.to(tl.float64), 0)
#       2. examples/precision/variance.py:12:12: this line computes in fp32
#          gives back 40% of the error of `out_ptr`: max 0.00702 -> 0.00423, rms
#            0.00702 -> 0.00423
#          help: another formula, or tl.float64 for this line
#       3. examples/precision/variance.py:14:23: this line computes in fp32
#          gives back 40% of the error of `out_ptr`: max 0.00702 -> 0.00423, rms
#            0.00702 -> 0.00423
#          help: another formula, or tl.float64 for this line
#       4. examples/precision/variance.py:13:14: a sum over `x * x` kept in fp32
#          gives back 24% of the error of `out_ptr`: max 0.00702 -> 0.00531, rms
#            0.00702 -> 0.00531
#          help: tl.sum((x * x).to(tl.float64), 0)
#       5. examples/precision/variance.py:13:14: this line computes in fp32
#          gives back 21% of the error of `out_ptr`: max 0.00702 -> 0.00553, rms
#            0.00702 -> 0.00553
#          help: another formula, or tl.float64 for this line
