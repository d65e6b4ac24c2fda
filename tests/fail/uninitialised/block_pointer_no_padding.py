"""`boundary_check` without `padding_option`: what lies outside is not defined."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    block = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))
    x = tl.load(block, boundary_check=(0,))
    tl.store(out_ptr, tl.sum(x))  #~ ERROR: an undefined value is stored to `out_ptr`


total[(1,)](np.ones(50, np.float32), np.zeros(1, np.float32), 50, BLOCK=64)
