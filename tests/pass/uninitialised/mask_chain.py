"""Three masks in a chain, the undefined one in the middle; and one that is true anyway."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pick(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, 1.0, mask=(offs >= 0) & (x > 0) & mask)
    tl.store(out_ptr + offs, 2.0, mask=mask & ((offs > n) | (x > 0)))
    tl.store(out_ptr + offs, tl.where(mask & (x > 0), x, 0.0), mask=mask)


pick[(1,)](np.ones(50, np.float32), np.zeros(50, np.float32), 50, BLOCK=64)
