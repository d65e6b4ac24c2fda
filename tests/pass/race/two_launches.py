"""What one launch writes the next may read: launches are ordered."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def shift(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + (offs + 1) % n, tl.load(x_ptr + offs))


a, b = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
shift[(2,)](a, b, 64, BLOCK=32)
shift[(2,)](b, a, 64, BLOCK=32)
assert a[2] == 0
