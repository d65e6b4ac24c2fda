"""A sum of int32 is stored to int8, which cannot hold it."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def narrow(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x.to(tl.int8))  #~ WARN: int8


narrow[(1,)](np.arange(256, dtype=np.int32), np.zeros(256, np.int8), BLOCK=256)
