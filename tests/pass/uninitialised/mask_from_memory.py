"""A mask that is loaded, with its own tail filled with False."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pick(x_ptr, keep_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    keep = tl.load(keep_ptr + offs, mask=offs < n, other=0)
    x = tl.load(x_ptr + offs, mask=keep != 0)
    tl.store(out_ptr + offs, x, mask=(keep != 0) & (offs < n))


pick[(1,)](
    np.ones(50, np.float32),
    np.arange(50, dtype=np.int8) % 2,
    np.zeros(50, np.float32),
    50,
    BLOCK=64,
)
