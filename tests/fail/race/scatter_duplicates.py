"""A scatter with an index that two program instances hold."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def scatter(index_ptr, x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offs)
    tl.store(out_ptr + index, tl.load(x_ptr + offs))
    #~^ ERROR: `out_ptr` is written by two program instances


index = np.arange(64, dtype=np.int32) % 60
scatter[(2,)](index, np.arange(64, dtype=np.float32), np.zeros(60, np.float32), BLOCK=32)
