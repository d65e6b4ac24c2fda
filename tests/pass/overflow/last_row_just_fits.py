"""Offsets up to 2**31 - 1 are all int32 can hold, and it does."""
#~ FLAGS: --programs 65535,0,0

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy_row(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    tl.store(out_ptr + cols, tl.load(x_ptr + tl.program_id(0) * stride + cols + (stride - BLOCK)))


x = np.empty((65536, 32768), np.int8)
x[-1] = 3
out = np.zeros(32, np.int8)
copy_row[(65536,)](x, out, 32768, BLOCK=32)
assert (out == 3).all()
