"""The scale of a group past K is loaded: K is no multiple of the block, and only `x` is masked."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def dequantise_sum(x_ptr, scale_ptr, out_ptr, K, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, K, BLOCK):
        offs = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < K, other=0).to(tl.float32)
        scale = tl.load(scale_ptr + offs // GROUP)  #~ ERROR: reads past the end of `scale_ptr`
        acc += x * scale
    tl.store(out_ptr, tl.sum(acc))


x, scale = np.ones(96, np.int8), np.ones(3, np.float32)
dequantise_sum[(1,)](x, scale, np.zeros(1, np.float32), 96, GROUP=32, BLOCK=64)
