"""Sums that wrap, and are only stored."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def checksum(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.sum(x))
    tl.store(out_ptr + 1, tl.max(tl.cumsum(x)))


checksum[(1,)](np.full(64, 1 << 30, np.int32), np.zeros(2, np.int32), BLOCK=64)
