"""The scales have a mask of their own."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def dequantise_sum(x_ptr, scale_ptr, out_ptr, K, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, K, BLOCK):
        offs = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < K, other=0).to(tl.float32)
        scale = tl.load(scale_ptr + offs // GROUP, mask=offs < K, other=0.0)
        acc += x * scale
    tl.store(out_ptr, tl.sum(acc))


x, scale, out = np.ones(96, np.int8), np.ones(3, np.float32), np.zeros(1, np.float32)
dequantise_sum[(1,)](x, scale, out, 96, GROUP=32, BLOCK=64)
assert out[0] == 96
