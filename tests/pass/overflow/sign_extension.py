"""Shifts left and right again extend a sign: bits leave on purpose."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def unpack(x_ptr, table_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    packed = tl.load(x_ptr + offs // 8)
    nibble = (packed << (28 - (offs % 8) * 4)) >> 28
    tl.store(out_ptr + offs, tl.load(table_ptr + nibble + 8))


x = np.array([0x76543210, -0x76543210], np.int32)
unpack[(1,)](x, np.arange(16, dtype=np.float32), np.zeros(16, np.float32), BLOCK=16)
