"""A soft cap of large logits is NaN: tanh is written as a ratio of exponentials, inf / inf."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def soft_cap(x_ptr, out_ptr, CAP: tl.constexpr, N: tl.constexpr):
    n = tl.arange(0, N)
    x = tl.load(x_ptr + n) / CAP
    up, down = tl.exp(x), tl.exp(-x)
    tl.store(out_ptr + n, CAP * (up - down) / (up + down))  # here: NaN is born


soft_cap[(1,)](np.linspace(0, 3000, 16, dtype=np.float32), np.zeros(16, np.float32), CAP=20.0, N=16)


# What `blockstep precision` says:
#
#     soft_cap, grid (1, 1, 1)
#       out_ptr: fp32 (7 NaN of 16 elements), off by 1.46e-09 of its size (rms), at
#         most 0.0 ulps at out_ptr[1]
#
#     examples/precision/soft_cap.py    introduced, of the size of the values
#        13 | 1.81e-08 | up, down = tl.exp(x), tl.exp(-x)
#           |          | ^ tl.exp overflows fp32: 1.22e+39 becomes inf (7 elements)
#           |          | ^ tl.exp underflows to zero: 1.69e-48 is too small for fp32
#           |          |   (5 elements)
#           |          | ^ tl.exp gives subnormal numbers, which have fewer bits (2
#           |          |   elements)
#        14 | 3.57e-08 | tl.store(out_ptr + n, CAP * (up - down) / (up + down))  # h…
#           |          | ^ NaN is born: inf / inf = NaN (7 elements)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/soft_cap.py:12:9: this line computes in fp32
#          gives back all of the error of `out_ptr`: NaN or Inf in 7 -> 0 elements,
#            max 8.24e-08 -> 8.24e-08, rms 2.13e-08 -> 2.13e-08
#          help: another formula, or tl.float64 for this line
#       2. examples/precision/soft_cap.py:13:27: this line computes in fp32
#          gives back all of the error of `out_ptr`: NaN or Inf in 7 -> 0 elements,
#            max 8.24e-08 -> 8.24e-08, rms 2.13e-08 -> 2.13e-08
#          help: another formula, or tl.float64 for this line
#       1 other decision would give back less
