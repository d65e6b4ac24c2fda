"""A reversal in place: each program instance reads what another one writes."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def reverse(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + n - 1 - offs)
    tl.store(x_ptr + offs, x)  #~ ERROR: `x_ptr` is read and written by two program instances


reverse[(2,)](np.arange(64, dtype=np.float32), 64, BLOCK=32)
