"""All lanes of a block store the same sum to one element."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    s = tl.sum(tl.load(x_ptr + offs))
    tl.store(out_ptr + offs * 0, tl.broadcast_to(s[None], (BLOCK,)))


total[(1,)](np.ones(32, np.float32), np.zeros(1, np.float32), BLOCK=32)
