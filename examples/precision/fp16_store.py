"""An accumulator of float32 is stored as float16, which ends at 65504; what reads it multiplies infinity by zero."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, kept_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    total = tl.load(x_ptr + n) * 1000.0
    tl.store(kept_ptr + n, total)  # here: overflows fp16
    kept = tl.load(kept_ptr + n)
    tl.store(out_ptr + n, kept * 0.0)


scale[(1,)](np.linspace(1, 90, 16, dtype=np.float32), *np.zeros((2, 16), np.float16), N=16)


# What `blockstep precision` says:
#
#     scale, grid (1, 1, 1)
#       kept_ptr: fp16 (5 infinite of 16 elements), off by 0.000186 of its size (rms),
#         at most 0.4 ulps at kept_ptr[8]
#       out_ptr: fp16, exact but for these (5 NaN of 16 elements)
#
#     examples/precision/fp16_store.py    introduced, of the size of the values
#        12 | 2.64e-08 | total = tl.load(x_ptr + n) * 1000.0
#           |          | ^ `*` rounds to fp32, by 0.4 ulps at most
#        13 | 0.000186 | tl.store(kept_ptr + n, total)  # here: overflows fp16
#           |          | ^ the cast overflows fp16: 6.63e+04 becomes inf (5 elements)
#        15 |        0 | tl.store(out_ptr + n, kept * 0.0)
#           |          | ^ NaN is born: inf * 0 = NaN (5 elements)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/fp16_store.py:13:5: `kept_ptr` holds fp16
#          gives back all of the error of `kept_ptr`: NaN or Inf in 5 -> 0 elements,
#            max 13.3 -> 0.00317, rms 5.55 -> 0.0014
#          help: make `kept_ptr` float32 where the host allocates it
#       3 other decisions would give back less
#       all of it in float32 at least: `kept_ptr` NaN or Inf in 5 -> 0 elements, max
#         13.3 -> 0.00317, rms 5.55 -> 0.0014
#       all of it in float32 at least: `out_ptr` NaN or Inf in 5 -> 0 elements
