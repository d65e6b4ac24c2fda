"""A softmax that does not subtract the maximum: exp of 100 is infinite in float32."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    e = tl.exp(tl.load(x_ptr + n))  # here: overflows fp32
    tl.store(out_ptr + n, e / tl.sum(e, 0))


softmax[(1,)](np.linspace(0, 100, 16, dtype=np.float32), np.zeros(16, np.float32), N=16)


# What `blockstep precision` says:
#
#     softmax, grid (1, 1, 1)
#       out_ptr: fp32 (2 NaN of 16 elements), off by 1 of its size (rms), at most
#         1.6e+07 ulps at out_ptr[2]
#
#     examples/precision/softmax_without_maximum.py    introduced, of the size of the values
#        12 | 2.59e-08 | e = tl.exp(tl.load(x_ptr + n))  # here: overflows fp32
#           |          | ^ tl.exp overflows fp32: 3.42e+40 becomes inf (2 elements)
#        13 |        0 | tl.store(out_ptr + n, e / tl.sum(e, 0))
#           |          | ^ NaN is born: inf / inf = NaN (2 elements)
#           |          | ^ `/` underflows to zero: 3.72e-44 is too small for fp32 (2
#           |          |   elements)
#           |          | ^ `/` gives zero for 2.29e-38: what it is made of was
#           |          |   rounded away (12 elements)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/softmax_without_maximum.py:12:9: this line computes in
#          fp32
#          gives back all of the error of `out_ptr`: NaN or Inf in 2 -> 0 elements,
#            max 1.62e-06 -> 1.83e-08, rms 4.04e-07 -> 4.56e-09
#          help: another formula, or tl.float64 for this line
#       2 other decisions would give back less
