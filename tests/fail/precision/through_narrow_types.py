"""NaN goes through float8, float16, bfloat16 and back, and keeps its birth."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def narrow(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    y = (x - x).to(tl.float8e5).to(tl.float16).to(tl.bfloat16)
    tl.store(out_ptr + at, y.to(tl.float32))
    #~^ WARN: this store writes NaN to `out_ptr`


narrow[(1,)](np.array([1, np.inf], np.float32), np.zeros(2, np.float32), BLOCK=2)
