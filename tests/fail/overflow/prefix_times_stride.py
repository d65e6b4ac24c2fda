"""A start of a sequence, from int32 prefix sums, times the row stride: wraps past 131072 tokens."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def first_rows(starts_ptr, x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    start = tl.load(starts_ptr + tl.program_id(0))
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + start * stride + cols)
    #~^ ERROR: a wrapped integer is used as an offset
    tl.store(out_ptr + tl.program_id(0) * BLOCK + cols, x)


x = np.empty((131073, 16384), np.int8)
x[0] = 1
first_rows[(2,)](np.array([0, 131072], np.int32), x, np.zeros(128, np.int8), 16384, BLOCK=64)
