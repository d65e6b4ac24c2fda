"""Partial sums are added to float16 in memory by atomics: each addition rounds to 11 bits."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def gather(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    tl.atomic_add(out_ptr, tl.sum(x, 0).to(tl.float16))  # here: atomic


random = np.random.default_rng(0)
gather[(64,)](random.random((64, 32)).astype(np.float32), np.zeros(1, np.float16), N=32)


# What `blockstep precision` says:
#
#     gather, grid (64, 1, 1)
#       out_ptr: fp16, off by 0.00122 of its size (rms), at most 2.5 ulps at
#         out_ptr[0]
#
#     examples/precision/atomics_in_fp16.py    introduced, of the size of the values
#        12 |  0.00122 | tl.atomic_add(out_ptr, tl.sum(x, 0).to(tl.float16))  # here…
#           |          | ^ `atomic_rmw` rounds to fp16, by 2.5 ulps at most
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/atomics_in_fp16.py:12:5: atomics add to `out_ptr` in
#          fp16, rounding each time
#          gives back all of the error of `out_ptr`: max 1.24 -> 4.67e-05, rms 1.24 ->
#            4.67e-05
#          help: make `out_ptr` float32 where the host allocates it, and store without
#            .to(...)
#       1 other decision would give back less
