"""Clamped before the conversion."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def convert(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.clamp(tl.load(x_ptr + offs), -128.0, 127.0)
    tl.store(out_ptr + offs, x.to(tl.int8))


out = np.zeros(4, np.int8)
convert[(1,)](np.array([-1e9, 2.5, 3e9, -7.9], np.float32), out, BLOCK=4)
assert out.tolist() == [-128, 2, 127, -7]
