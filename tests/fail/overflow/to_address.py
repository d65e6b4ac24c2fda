"""A row index times a row stride, both int32: the product wraps before the pointer is added."""
#~ FLAGS: --programs 70000,0,0

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy_row(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    offs = tl.program_id(0) * stride + cols
    x = tl.load(x_ptr + offs)  #~ ERROR: a wrapped integer is used as an offset
    tl.store(out_ptr + cols, x)


x = np.empty((70001, 32768), np.int8)
copy_row[(70001,)](x, np.zeros(32, np.int8), 32768, BLOCK=32)
