"""A sum of int32 is stored to int8, which cannot hold it."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def narrow(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x.to(tl.int8))
    #~^ WARN: 256 does not fit int8, and 0 is stored to `out_ptr`


narrow[(1,)](np.arange(512, dtype=np.int32), np.zeros(512, np.int8), BLOCK=512)
