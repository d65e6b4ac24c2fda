"""All but one of the lanes that share an element are masked off."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def scatter(index_ptr, x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offs)
    tl.store(out_ptr + index, tl.load(x_ptr + offs), mask=offs < 30)


index = np.arange(32, dtype=np.int32) % 30
scatter[(1,)](index, np.arange(32, dtype=np.float32), np.zeros(30, np.float32), BLOCK=32)
