"""NaN goes through integer bits, a sort and a narrower type, and keeps its birth."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def moved(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.sqrt(tl.load(x_ptr + at))
    bits = x.to(tl.int32, bitcast=True) ^ 0
    y = tl.flip(bits.to(tl.float32, bitcast=True), 0)
    tl.store(out_ptr + at, y.to(tl.float16))
    #~^ WARN: this store writes NaN to `out_ptr`


moved[(1,)](np.array([4, -1, 9, 16], np.float32), np.zeros(4, np.float16), BLOCK=4)
