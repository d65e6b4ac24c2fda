"""The store itself narrows: the pointer is of int16."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def narrow(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x * 2000)
    #~^ WARN: 66000 does not fit int16, and 464 is stored to `out_ptr`


narrow[(1,)](np.arange(64, dtype=np.int32), np.zeros(64, np.int16), BLOCK=64)
