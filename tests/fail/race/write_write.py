"""Blocks that overlap by half: two program instances write each element, with different values."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * (BLOCK // 2) + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, pid)  #~ ERROR: `out_ptr` is written by two program instances


fill[(4,)](np.zeros(80, np.int32), BLOCK=32)
