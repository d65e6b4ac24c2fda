"""As many bins as values."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def histogram(x_ptr, bins_ptr, BLOCK: tl.constexpr):
    bins = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.atomic_add(bins_ptr + bins, 1)


x = np.arange(32, dtype=np.int32) % 16
bins = np.zeros(16, np.int32)
histogram[(2,)](x, bins, BLOCK=32)
assert (bins == 4).all()
