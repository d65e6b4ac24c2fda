"""The rows of one block times the row stride: only the last rows wrap."""
#~ FLAGS: --programs 1023,0,0

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, stride, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    x = tl.load(x_ptr + rows[:, None] * stride + cols[None, :])
    #~^ ERROR: a wrapped integer is used as an offset
    tl.store(out_ptr + tl.arange(0, BM)[:, None] * BN + cols[None, :], x)


copy[(1024,)](np.empty((65536, 32784), np.int8), np.zeros((64, 16), np.int8), 32784, BM=64, BN=16)
