"""The row index is int64 before it is multiplied; the array is never touched where nobody looks."""
#~ FLAGS: --programs 70000,0,0

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy_row(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    offs = tl.program_id(0).to(tl.int64) * stride + cols
    tl.store(out_ptr + cols, tl.load(x_ptr + offs))


x = np.empty((70001, 32768), np.int8)
x[70000, :32] = 5
out = np.zeros(32, np.int8)
copy_row[(70001,)](x, out, 32768, BLOCK=32)
assert (out == 5).all()
