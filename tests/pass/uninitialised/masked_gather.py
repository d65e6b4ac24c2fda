"""The gather has the mask of its indices."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def gather(index_ptr, x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offs, mask=offs < n)
    x = tl.load(x_ptr + index, mask=offs < n)
    tl.store(out_ptr + offs, x, mask=offs < n)


gather[(1,)](
    np.arange(50, dtype=np.int32), np.ones(50, np.float32), np.zeros(50, np.float32), 50, BLOCK=64
)
