"""The start of a sequence is the sum of the lengths before it, in int32."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def first(lengths_ptr, x_ptr, out_ptr, BLOCK: tl.constexpr):
    start = tl.sum(tl.load(lengths_ptr + tl.arange(0, BLOCK)))
    tl.store(out_ptr, tl.load(x_ptr + start))  #~ ERROR: a wrapped integer is used as an offset


lengths = np.full(64, 1 << 26, np.int32)
first[(1,)](lengths, np.ones(64, np.int8), np.zeros(1, np.int8), BLOCK=64)
