"""Shifted by one in place: one program instance reads the first element of the block of another."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def shift(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs + 1, mask=offs < n - 1, other=0.0)
    tl.store(x_ptr + offs, x, mask=offs < n)
    #~^ ERROR: `x_ptr` is read and written by two program instances


shift[(4,)](np.arange(128, dtype=np.float32), 128, BLOCK=32)
