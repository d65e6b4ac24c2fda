"""A scatter inside one block: two lanes hold the same index."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def scatter(index_ptr, x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + offs)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + index, x)
    #~^ ERROR: this store writes different values to one element of `out_ptr`


index = np.arange(32, dtype=np.int32) % 30
scatter[(1,)](index, np.arange(32, dtype=np.float32), np.zeros(30, np.float32), BLOCK=32)
