"""A quantisation scale in float16 is subnormal: it has three bits left."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def scales(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    scale = (tl.load(x_ptr + n) / 448.0).to(tl.float16)  # here: subnormal
    tl.store(out_ptr + n, scale.to(tl.float32))


scales[(1,)](np.linspace(1e-4, 1e-3, 16, dtype=np.float32), np.zeros(16, np.float32), N=16)


# What `blockstep precision` says:
#
#     scales, grid (1, 1, 1)
#       out_ptr: fp32, off by 0.0127 of its size (rms), at most 1.1e+06 ulps at
#         out_ptr[0]
#
#     examples/precision/subnormal_scale.py    introduced, of the size of the values
#        12 |   0.0127 | scale = (tl.load(x_ptr + n) / 448.0).to(tl.float16)  # here…
#           |          | ^ the cast gives subnormal numbers, which have fewer bits
#           |          |   (16 elements)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/subnormal_scale.py:12:13: `tl.load(x_ptr + n) / 448.0`
#          is rounded to fp16
#          gives back all of the error of `out_ptr`: max 2.9e-08 -> 9.74e-14, rms
#            1.75e-08 -> 2.81e-14
#          help: keep float32: tl.load(x_ptr + n) / 448.0 without .to(...)
#       1 other decision would give back less
