"""A float32 product is off by a thousandth: its operands are rounded to tf32, which is the default."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, BLOCK: tl.constexpr):
    n, k = tl.arange(0, N), tl.arange(0, BLOCK)
    acc = tl.zeros([N, N], tl.float32)
    for i in range(0, K, BLOCK):
        a = tl.load(a_ptr + n[:, None] * K + (i + k)[None, :])
        b = tl.load(b_ptr + (i + k)[:, None] * N + n[None, :])
        acc += tl.dot(a, b)  # here: tf32
    tl.store(c_ptr + n[:, None] * N + n[None, :], acc)


random = np.random.default_rng(0)
a, b = (random.normal(size=s).astype(np.float32) for s in ((32, 512), (512, 32)))
c = np.zeros((32, 32), np.float32)
matmul[(1,)](a, b, c, 512, N=32, BLOCK=32)


# What `blockstep precision` says:
#
#     matmul, grid (1, 1, 1)
#       c_ptr: fp32, off by 0.000782 of its size (rms), at most 1.5e+07 ulps at
#         c_ptr[4, 11]
#
#     examples/precision/tf32_by_default.py    introduced, of the size of the values
#        16 | 0.000776 | acc += tl.dot(a, b)  # here: tf32
#           |          | ^ cancellation: 2.31 + -2.31 = 0.00126 loses 13 bits: what
#           |          |   was rounded before stands in the first places (1 element)
#           |          | ^ tl.dot rounds its fp32 operands to tf32, 10 bits: nobody
#           |          |   asked for it, it is the default
#
#     what would give it back: the launch run again, one decision taken otherwise
#       1. examples/precision/tf32_by_default.py:16:16: the factors of this product
#          are read as tf32
#          gives back all of the error of `c_ptr`: max 0.0651 -> 1.23e-05, rms 0.0177
#            -> 2.83e-06
#          help: tl.dot(a, b, input_precision="ieee") (or "tf32x3", faster)
#       1 other decision would give back less
