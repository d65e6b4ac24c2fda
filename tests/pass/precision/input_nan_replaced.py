"""NaN in the data is replaced in each of the usual ways."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def clean(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.where(x == x, x, 0.0))
    tl.store(out_ptr + BLOCK + at, tl.where(x != x, 0.0, x))
    tl.store(out_ptr + 2 * BLOCK + at, tl.maximum(x, 0.0))
    tl.store(out_ptr + 3 * BLOCK + at, tl.where(x > 0.0, x, 0.0))
    tl.store(out_ptr + 4 * BLOCK + at, x, mask=x == x)
    tl.store(out_ptr + 5 * BLOCK + at, x, mask=tl.abs(x) < float("inf"))
    tl.store(out_ptr + 6 * BLOCK + at, tl.max(x, axis=0))
    bits = x.to(tl.int32, bitcast=True)
    tl.store(out_ptr + 7 * BLOCK + at, (bits & 0x7F800000).to(tl.float32, bitcast=True))


x = np.array([1, np.nan, -3, 4], np.float32)
clean[(1,)](x, np.zeros((8, 4), np.float32), BLOCK=4)
