"""Two blocks fill the argument to its last byte, with no mask."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 1.0)


out = np.zeros(128, np.float32)
fill[(2,)](out, BLOCK=64)
assert (out == 1).all()
