"""The length is computed in int64."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, rows, cols, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, 1, mask=offs < rows.to(tl.int64) * cols)


out = np.zeros(64, np.int8)
fill[(1,)](out, 65536, 32768, BLOCK=64)
assert (out == 1).all()
