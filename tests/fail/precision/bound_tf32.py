"""A product of float32 blocks in tf32, which has ten bits: asked for, and held to a bound."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision error:64ulp

@triton.jit
def product(a_ptr, b_ptr, out_ptr, K: tl.constexpr):
    m, k = tl.arange(0, 16), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * 16 + m[None, :])
    tl.store(out_ptr + m[:, None] * 16 + m[None, :], tl.dot(a, b, input_precision="tf32"))
    #~^ ERROR: `out_ptr` is off by


a = np.arange(16 * 32, dtype=np.float32).reshape(16, 32) / 512 + 1
product[(1,)](a, 1 / a.T.copy(), np.zeros((16, 16), np.float32), K=32)
