"""Gradients become zero: the product of two small float16 numbers is too small for float16."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def gradients(p_ptr, dp_ptr, ds_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    p, dp = tl.load(p_ptr + n), tl.load(dp_ptr + n)
    tl.store(ds_ptr + n, p * dp)  # here: underflows to zero


random = np.random.default_rng(0)
p, dp = ((random.random(64) * 1e-4).astype(np.float16) for _ in range(2))
gradients[(1,)](p, dp, np.zeros(64, np.float16), N=64)


# What `blockstep precision` says:
#
#     gradients, grid (1, 1, 1)
#       ds_ptr: fp16, off by 1 of its size (rms), at most 0.2 ulps at ds_ptr[27]
#
#     examples/precision/fp16_gradients.py    introduced, of the size of the values
#        13 |        1 | tl.store(ds_ptr + n, p * dp)  # here: underflows to zero
#           |          | ^ `*` underflows to zero: 1.9e-09 is too small for fp16 (64
#           |          |   elements)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/fp16_gradients.py:13:5: `ds_ptr` holds fp16
#          gives back all of the error of `ds_ptr`: max 9.5e-09 -> 0, rms 3.97e-09 ->
#            0
#          help: make `ds_ptr` float32 where the host allocates it, and compute what
#            is stored in float32
#       1 other decision would give back less
#       all of it in float32 at least: `ds_ptr` max 9.5e-09 -> 0, rms 3.97e-09 -> 0
