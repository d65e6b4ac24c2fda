"""The same lanes store to the same elements twice: each lane keeps its own order."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 0.0)
    tl.store(out_ptr + offs, 1.0)
    tl.store(out_ptr + offs, 2.0, mask=offs < 8)


out = np.ones(64, np.float32)
fill[(1,)](out, BLOCK=64)
assert out[0] == 2 and out[63] == 1
