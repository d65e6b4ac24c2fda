"""Masked lanes may point anywhere, also before the start."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def shift(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for tap in tl.range(3, num_stages=3):
        at = offs + tap - 1
        acc += tl.load(x_ptr + at, mask=(at >= 0) & (at < n), other=0.0)
    tl.store(out_ptr + offs, acc, mask=offs < n)


out = np.zeros(60, np.float32)
shift[(1,)](np.ones(60, np.float32), out, 60, BLOCK=64)
assert out[0] == 2 and out[1] == 3 and out[59] == 2
