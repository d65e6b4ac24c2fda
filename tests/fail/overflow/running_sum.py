"""A cumulative sum wraps on its way, and its lanes are used as offsets."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def starts(lengths_ptr, x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    start = tl.cumsum(tl.load(lengths_ptr + offs))
    x = tl.load(x_ptr + start)  #~ ERROR: a wrapped integer is used as an offset
    tl.store(out_ptr + offs, x)


x = np.empty(1 << 31, np.int8)
lengths = np.array([3, 3, 3, 3, 1 << 29, 1 << 29, 1 << 29, 1 << 29], np.int32)
starts[(1,)](lengths, x, np.zeros(8, np.int8), BLOCK=8)
