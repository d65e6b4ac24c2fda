"""Integers that are read as floats, and are no number."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def reads(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(tl.float32, bitcast=True))
    #~^ WARN: this store writes NaN to `out_ptr`


reads[(1,)](np.array([0, 0x7FC00000], np.int32), np.zeros(2, np.float32), BLOCK=2)
