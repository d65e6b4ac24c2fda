"""The loss is always 0: a probability next to 1 is 1 in float32, and its logarithm is nothing."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def cross_entropy(x_ptr, loss_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    x = tl.load(x_ptr + tl.program_id(0) * N + n)
    e = tl.exp(x - tl.max(x, 0))
    p = tl.sum(tl.where(n == 0, e, 0.0), 0) / tl.sum(e, 0)
    tl.store(loss_ptr + tl.program_id(0), -tl.log(p))  # here: was rounded away


x = np.array([[20, 0, 0, 1], [22, 1, 2, 0], [25, 3, 3, 3]], np.float32)
cross_entropy[(3,)](x, np.zeros(3, np.float32), N=4)


# What `blockstep precision` says:
#
#     cross_entropy, grid (3, 1, 1)
#       loss_ptr: fp32, off by 1 of its size (rms), at most 1.5e+07 ulps at
#         loss_ptr[2]
#
#     examples/precision/loss_of_zero.py    introduced, of the size of the values
#        13 | 7.21e-17 | e = tl.exp(x - tl.max(x, 0))
#           |          | ^ tl.exp rounds to fp32, by 0.5 ulps at most
#        14 | 5.91e-09 | p = tl.sum(tl.where(n == 0, e, 0.0), 0) / tl.sum(e, 0)
#           |          | ^ the reduction rounds to fp32, by 0.1 ulps at most
#        15 |        0 | tl.store(loss_ptr + tl.program_id(0), -tl.log(p))  # here: …
#           |          | ^ tl.log gives zero for -9.73e-09: what it is made of was
#           |          |   rounded away (3 elements)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/loss_of_zero.py:14:47: a sum over `e` kept in fp32
#          gives back all of the error of `loss_ptr`: max 9.73e-09 -> 3.8e-16, rms
#            5.91e-09 -> 2.2e-16
#          help: tl.sum(e.to(tl.float64), 0)
#       2. examples/precision/loss_of_zero.py:13:9: this line computes in fp32
#          gives back all of the error of `loss_ptr`: max 9.73e-09 -> 3.8e-16, rms
#            5.91e-09 -> 2.2e-16
#          help: another formula, or tl.float64 for this line
#       3 other decisions would give back less
