"""`--only precision` judges nothing else: the load past the end is not told."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --only precision

@triton.jit
def root(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.sqrt(tl.load(x_ptr + at)))
    #~^ WARN: this store writes NaN to `out_ptr`


root[(1,)](np.full(3, -1.0, np.float32), np.zeros(4, np.float32), BLOCK=4)
