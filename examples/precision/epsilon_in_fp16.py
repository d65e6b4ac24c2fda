"""rsqrt(variance + eps) in float16: 1e-8 is zero there, and 1 / sqrt(0) is infinite."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def normalise(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    variance = tl.load(x_ptr + n)
    eps = (variance * 0 + 1e-8).to(tl.float16)  # here: underflows to zero
    tl.store(out_ptr + n, 1.0 / tl.sqrt((variance.to(tl.float16) + eps).to(tl.float32)))


normalise[(1,)](np.zeros(16, np.float32), np.zeros(16, np.float32), N=16)


# What `blockstep precision` says:
#
#     normalise, grid (1, 1, 1)
#       out_ptr: fp32, exact but for these (16 infinite of 16 elements)
#
#     examples/precision/epsilon_in_fp16.py    introduced, of the size of the values
#        13 |        1 | eps = (variance * 0 + 1e-8).to(tl.float16)  # here: underfl…
#           |          | ^ the cast underflows to zero: 1e-08 is too small for fp16
#           |          |   (16 elements)
#        14 |        0 | tl.store(out_ptr + n, 1.0 / tl.sqrt((variance.to(tl.float16…
#           |          | ^ infinity is born: 1 / 0 = inf, and would be 1e+04 without
#           |          |   rounding (16 elements)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/epsilon_in_fp16.py:13:11: `variance * 0 + 1e-08` is
#          rounded to fp16
#          gives back all of the error of `out_ptr`: NaN or Inf in 16 -> 0 elements
#          help: keep float32: variance * 0 + 1e-08 without .to(...)
#       4 other decisions would give back less
#       all of it in float32 at least: `out_ptr` NaN or Inf in 16 -> 0 elements
