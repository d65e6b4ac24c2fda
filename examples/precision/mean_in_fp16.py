"""A mean of large float16 numbers: their sum is past 65504 long before it is divided."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(x, y):
    return x + y


@triton.jit
def mean(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.reduce(x, 0, total) / N)  # here: overflows fp16


mean[(1,)](np.full(1024, 100, np.float16), np.zeros(1, np.float16), N=1024)


# What `blockstep precision` says:
#
#     mean, grid (1, 1, 1)
#       out_ptr: fp16, exact but for these (1 infinite of 1 element)
#
#     examples/precision/mean_in_fp16.py    introduced, of the size of the values
#        17 |        0 | tl.store(out_ptr, tl.reduce(x, 0, total) / N)  # here: over…
#           |          | ^ the reduction overflows fp16: 1.02e+05 becomes inf (1
#           |          |   element)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/mean_in_fp16.py:17:23: a sum over `x` kept in fp16
#          gives back all of the error of `out_ptr`: NaN or Inf in 1 -> 0 elements
#          help: tl.reduce(x.to(tl.float32), 0, total)
#       2 other decisions would give back less
#       all of it in float32 at least: `out_ptr` NaN or Inf in 1 -> 0 elements
