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
#       out_ptr: fp32, off by 0.00743 of its size (rms), at most 1.2e+05 ulps at out_ptr[0]
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
#     what would give it back, measured by running again with one decision widened:
#       1. arithmetic in fp32 at examples/precision/variance.py:14: out_ptr 0.00743 -> 0.00448
#          compute in tl.float64: x.to(tl.float64) before it
#       2. a sum kept in fp32 at examples/precision/variance.py:13: out_ptr 0.00743 -> 0.00585
#          accumulate in tl.float64: acc = tl.zeros(…, tl.float64), and cast once, at the end
