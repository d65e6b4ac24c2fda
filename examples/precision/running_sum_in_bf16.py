"""A running sum in bfloat16 stands still: at 256 adding 1 changes nothing."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def count(x_ptr, out_ptr, STEPS, N: tl.constexpr):
    n = tl.arange(0, N)
    total = tl.zeros([N], tl.bfloat16)
    for i in range(STEPS):
        total += tl.load(x_ptr + i * N + n).to(tl.bfloat16)  # here: a sum kept in bf16
    tl.store(out_ptr + n, total)


count[(1,)](np.ones((1000, 16), np.float32), np.zeros(16, np.float32), 1000, N=16)


# What `blockstep precision` says:
#
#     count, grid (1, 1, 1)
#       out_ptr: fp32, off by 0.744 of its size (rms), at most 1.2e+07 ulps at
#         out_ptr[0]
#
#     examples/precision/running_sum_in_bf16.py    introduced, of the size of the values
#        14 |  0.00149 | total += tl.load(x_ptr + i * N + n).to(tl.bfloat16)  # here…
#           |          | ^ `+` rounds to bf16, by 0.5 ulps at most
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/running_sum_in_bf16.py:14:9: `total` is a sum kept in
#          bf16 by a loop
#          gives back all of the error of `out_ptr`: max 744 -> 0, rms 744 -> 0
#          help: total = tl.zeros(..., tl.float32), added to without .to(...); convert
#            at the store
