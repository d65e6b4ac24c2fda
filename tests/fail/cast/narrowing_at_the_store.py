"""The store itself narrows: the pointer is of int16."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def narrow(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, x * 1000)  #~ WARN: int16


narrow[(1,)](np.arange(64, dtype=np.int32), np.zeros(64, np.int16), BLOCK=64)
