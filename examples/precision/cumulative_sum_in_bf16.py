"""A cumulative sum in bfloat16 drifts: each partial sum has 8 bits."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(x, y):
    return x + y


@triton.jit
def cumulate(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    x = tl.load(x_ptr + n).to(tl.bfloat16)
    tl.store(out_ptr + n, tl.associative_scan(x, 0, total))  # here: kept in bf16


random = np.random.default_rng(0)
cumulate[(1,)](random.random(512).astype(np.float32), np.zeros(512, np.float32), N=512)


# What `blockstep precision` says:
#
#     cumulate, grid (1, 1, 1)
#       out_ptr: fp32, off by 0.00307 of its size (rms), at most 1.0e+05 ulps at
#         out_ptr[177]
#
#     examples/precision/cumulative_sum_in_bf16.py    introduced, of the size of the values
#        17 |  0.00143 | x = tl.load(x_ptr + n).to(tl.bfloat16)
#           |          | ^ the cast rounds to bf16, by 0.5 ulps at most
#        18 |  0.00306 | tl.store(out_ptr + n, tl.associative_scan(x, 0, total))  # …
#           |          | ^ the scan rounds to bf16, by 1.5 ulps at most
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/cumulative_sum_in_bf16.py:17:9: `tl.load(x_ptr + n)` is
#          rounded to bf16
#          gives back all of the error of `out_ptr`: max 2.09 -> 2.88e-05, rms 0.485
#            -> 6.85e-06
#          help: keep float32: tl.load(x_ptr + n) without .to(...)
#       2. examples/precision/cumulative_sum_in_bf16.py:18:27: running sums of `x`
#          kept in bf16
#          gives back 97% of the error of `out_ptr`: max 2.09 -> 0.024, rms 0.485 ->
#            0.0159
#          help: tl.associative_scan(x.to(tl.float32), 0, total)
#       all of it in float32 at least: `out_ptr` max 2.09 -> 2.88e-05, rms 0.485 ->
#         6.85e-06
