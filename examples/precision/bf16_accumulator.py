"""A long sum of products kept in bfloat16: each of 16 sums is rounded to 8 bits."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, BLOCK: tl.constexpr):
    n, k = tl.arange(0, N), tl.arange(0, BLOCK)
    acc = tl.zeros([N, N], tl.bfloat16)
    for i in range(0, K, BLOCK):
        a = tl.load(a_ptr + n[:, None] * K + (i + k)[None, :]).to(tl.bfloat16)
        b = tl.load(b_ptr + (i + k)[:, None] * N + n[None, :]).to(tl.bfloat16)
        acc += tl.dot(a, b).to(tl.bfloat16)  # here: a sum kept in bf16
    tl.store(c_ptr + n[:, None] * N + n[None, :], acc)


random = np.random.default_rng(0)
a, b = (random.normal(size=s).astype(np.float32) for s in ((32, 512), (512, 32)))
c = np.zeros((32, 32), np.float32)
matmul[(1,)](a, b, c, 512, N=32, BLOCK=32)


# What `blockstep precision` says:
#
#     matmul, grid (1, 1, 1)
#       c_ptr: fp32, off by 0.00562 of its size (rms), at most 1.0e+08 ulps at
#         c_ptr[27, 4]
#
#     examples/precision/bf16_accumulator.py    introduced, of the size of the values
#        14 |  0.00167 | a = tl.load(a_ptr + n[:, None] * K + (i + k)[None, :]).to(t…
#           |          | ^ the cast rounds to bf16, by 0.5 ulps at most
#        15 |  0.00166 | b = tl.load(b_ptr + (i + k)[:, None] * N + n[None, :]).to(t…
#           |          | ^ the cast rounds to bf16, by 0.5 ulps at most
#        16 |  0.00169 | acc += tl.dot(a, b).to(tl.bfloat16)  # here: a sum kept in …
#           |          | ^ cancellation: 2.33 + -2.31 = 0.0156 loses 8 bits: what was
#           |          |   rounded before stands in the first places (175 elements)
#           |          | ^ `+` gives zero for 0.019: what it is made of was rounded
#           |          |   away (6 elements)
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/bf16_accumulator.py:16:9: `acc` is a sum kept in bf16 by
#          a loop
#          gives back 59% of the error of `c_ptr`: max 0.644 -> 0.165, rms 0.127 ->
#            0.0522
#          help: acc = tl.zeros(..., tl.float32), added to without .to(...); convert
#            at the store
#       2. examples/precision/bf16_accumulator.py:15:13: what is computed here is
#          rounded to bf16
#          gives back 5% of the error of `c_ptr`: max 0.644 -> 0.641, rms 0.127 ->
#            0.121
#          help: keep it in float32, and convert once, at the store
#       3. examples/precision/bf16_accumulator.py:14:13: what is computed here is
#          rounded to bf16
#          gives back 4% of the error of `c_ptr`: max 0.644 -> 0.644, rms 0.127 ->
#            0.123
#          help: keep it in float32, and convert once, at the store
#       1 other decision would give back less
#       all of it in float32 at least: `c_ptr` max 0.644 -> 1.23e-05, rms 0.127 ->
#         2.83e-06
