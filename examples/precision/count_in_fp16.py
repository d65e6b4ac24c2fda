"""Counts cast to float16: past 2048 they are rounded, past 65504 infinite."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def counts(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    tl.store(out_ptr + n, tl.load(x_ptr + n).to(tl.float16))  # here: overflows fp16


counts[(1,)](np.linspace(1, 90001, 16).astype(np.int32), np.zeros(16, np.float32), N=16)


# What `blockstep precision` says:
#
#     counts, grid (1, 1, 1)
#       out_ptr: fp32 (5 infinite of 16 elements), off by 0.000182 of its size (rms),
#         at most 3840.0 ulps at out_ptr[7]
#
#     examples/precision/count_in_fp16.py    introduced, of the size of the values
#        12 | 0.000182 | tl.store(out_ptr + n, tl.load(x_ptr + n).to(tl.float16))  #…
#           |          | ^ the cast overflows fp16: 6.6e+04 becomes inf (5 elements)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/count_in_fp16.py:12:27: `tl.load(x_ptr + n)` is rounded
#          to fp16
#          gives back all of the error of `out_ptr`: NaN or Inf in 5 -> 0 elements,
#            max 15 -> 0, rms 5.35 -> 0
#          help: keep float32: tl.load(x_ptr + n) without .to(...)
