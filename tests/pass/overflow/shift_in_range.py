"""Shifts up to the width less one; a shift of 64 bits by 32."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def bits(out_ptr, wide_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.full((BLOCK,), 1, tl.uint32) << offs)
    tl.store(wide_ptr + offs, offs.to(tl.int64) << 32)


bits[(1,)](np.zeros(32, np.uint32), np.zeros(32, np.int64), BLOCK=32)
