"""Activations are cast to fp8 without a scale: everything past 448 becomes 448."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def quantise(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    q = tl.load(x_ptr + n).to(tl.float8e4nv)  # here: saturates
    tl.store(out_ptr + n, q.to(tl.float32))


quantise[(1,)](np.linspace(1, 2000, 16, dtype=np.float32), np.zeros(16, np.float32), N=16)


# What `blockstep precision` says:
#
#     quantise, grid (1, 1, 1)
#       out_ptr: fp32, off by 0.693 of its size (rms), at most 1.3e+07 ulps at
#         out_ptr[15]
#
#     examples/precision/fp8_without_scale.py    introduced, of the size of the values
#        12 |    0.693 | q = tl.load(x_ptr + n).to(tl.float8e4nv)  # here: saturates
#           |          | ^ the cast saturates: 534 becomes 448, the largest of
#           |          |   fp8e4nv (12 elements)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/fp8_without_scale.py:12:9: `tl.load(x_ptr + n)` is
#          rounded to fp8e4nv
#          gives back all of the error of `out_ptr`: max 1.55e+03 -> 0, rms 814 -> 0
#          help: keep float32: tl.load(x_ptr + n) without .to(...)
