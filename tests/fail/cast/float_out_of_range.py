"""A float past the range of int32 is converted: a GPU saturates, and the value is lost."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def convert(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x.to(tl.int32))
    #~^ WARN: 3e+09 does not fit int32, and 2147483647 is stored to `out_ptr`


convert[(1,)](np.array([1e9, 2e9, 3e9, 4e9], np.float32), np.zeros(4, np.int32), BLOCK=4)
