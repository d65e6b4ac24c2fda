"""Blocks that touch, and do not overlap."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * (BLOCK // 2) + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, pid, mask=tl.arange(0, BLOCK) < BLOCK // 2)


out = np.zeros(64, np.int32)
fill[(4,)](out, BLOCK=32)
assert (out == np.arange(64) // 16).all()
