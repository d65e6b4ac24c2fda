"""A logarithm of a count, multiplied in bfloat16: all but 8 bits of it go."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def position_bias(count_ptr, weight_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    bias = tl.log(tl.load(count_ptr + n).to(tl.float32) + 1.0)
    bias = bias.to(tl.bfloat16)  # here: rounds to bf16
    weight = tl.load(weight_ptr + n)
    tl.store(out_ptr + n, bias.to(tl.float32) * weight)


random = np.random.default_rng(0)
weight = random.normal(size=64).astype(np.float32)
position_bias[(1,)](random.integers(0, 10**6, 64), weight, np.zeros(64, np.float32), N=64)


# What `blockstep precision` says:
#
#     position_bias, grid (1, 1, 1)
#       out_ptr: fp32, off by 0.00107 of its size (rms), at most 4.2e+04 ulps at
#         out_ptr[57]
#
#     examples/precision/log_times_bf16.py    introduced, of the size of the values
#        12 | 1.94e-08 | bias = tl.log(tl.load(count_ptr + n).to(tl.float32) + 1.0)
#           |          | ^ tl.log rounds to fp32, by 0.5 ulps at most
#        13 |  0.00126 | bias = bias.to(tl.bfloat16)  # here: rounds to bf16
#           |          | ^ the cast rounds to bf16, by 0.5 ulps at most
#        15 | 2.89e-08 | tl.store(out_ptr + n, bias.to(tl.float32) * weight)
#           |          | ^ `*` rounds to fp32, by 0.5 ulps at most
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/log_times_bf16.py:13:12: `bias` is rounded to bf16
#          gives back all of the error of `out_ptr`: max 0.0402 -> 1.25e-06, rms
#            0.0128 -> 3.85e-07
#          help: keep float32: bias without .to(...)
#       2 other decisions would give back less
