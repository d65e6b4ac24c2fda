"""Lanes that are shifted too far are not stored."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def unpack(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs // 8, mask=offs < n, other=0)
    tl.store(out_ptr + offs, (x >> (offs * 4)) & 0xF, mask=offs < 8)


unpack[(1,)](np.full(1, 0x76543210, np.int32), np.zeros(8, np.int32), 8, BLOCK=16)
