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
    tl.store(out_ptr + n, tl.associative_scan(x, 0, total))  # here: a sum kept in bf16


random = np.random.default_rng(0)
cumulate[(1,)](random.random(512).astype(np.float32), np.zeros(512, np.float32), N=512)


# What `blockstep precision` says:
#
#     cumulate, grid (1, 1, 1)
#       out_ptr: fp32, off by 0.00307 of its size (rms), at most 1.0e+05 ulps at out_ptr[177]
#
#     examples/precision/cumulative_sum_in_bf16.py    introduced, of the size of the values
#        17 |  0.00143 | x = tl.load(x_ptr + n).to(tl.bfloat16)
#           |          | ^ the cast rounds to bf16, by 0.5 ulps at most
#        18 |  0.00306 | tl.store(out_ptr + n, tl.associative_scan(x, 0, total))  # …
#           |          | ^ the scan rounds to bf16, by 1.5 ulps at most
#
#     what would give it back, measured by running again with one decision widened:
#       1. a sum kept in bf16 at examples/precision/cumulative_sum_in_bf16.py:18: out_ptr 0.00159 -> 0.0001
#          accumulate in tl.float32: acc = tl.zeros(…, tl.float32), and cast once, at the end
