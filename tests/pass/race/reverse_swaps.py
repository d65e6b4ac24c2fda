"""Each program instance swaps its own pair of blocks."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def reverse(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    front = tl.load(x_ptr + offs)
    back = tl.load(x_ptr + n - 1 - offs)
    tl.store(x_ptr + offs, back)
    tl.store(x_ptr + n - 1 - offs, front)


x = np.arange(128, dtype=np.float32)
reverse[(2,)](x, 128, BLOCK=32)
assert (x == np.arange(128)[::-1]).all()
