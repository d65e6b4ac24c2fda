"""A threshold that a sum reaches only because it was rounded: another branch is taken."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def keep(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    total = tl.load(x_ptr + n) + 1.0
    tl.store(out_ptr + n, tl.where(total > 1.0, total, 0.0))  # here: decided otherwise


keep[(1,)](np.linspace(1e-9, 5e-8, 16, dtype=np.float32), np.zeros(16, np.float32), N=16)


# What `blockstep precision` says:
#
#     keep, grid (1, 1, 1)
#       out_ptr: fp32, exact
#
#     examples/precision/branch_on_rounding.py    introduced, of the size of the values
#        12 | 2.96e-08 | total = tl.load(x_ptr + n) + 1.0
#           |          | ^ `+` rounds to fp32, by 0.4 ulps at most
#        13 |        0 | tl.store(out_ptr + n, tl.where(total > 1.0, total, 0.0))  #…
#           |          | ^ `gt` would be decided otherwise without rounding (16
#           |          |   elements)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/branch_on_rounding.py:12:13: this line computes in fp32
#          gives back all of the error of `out_ptr`: max 1 -> 5e-08, rms 1 -> 2.96e-08
#          help: another formula, or tl.float64 for this line
