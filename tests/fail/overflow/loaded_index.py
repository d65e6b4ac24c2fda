"""A row index, loaded as int32 from memory, times the number of columns."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def gather_rows(index_ptr, x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    row = tl.load(index_ptr + tl.program_id(0))
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols)  #~ ERROR: a wrapped integer is used as an offset
    tl.store(out_ptr + cols, x)


gather_rows[(1,)](
    np.full(1, 70000, np.int32),
    np.empty((70001, 32768), np.int8),
    np.zeros(32, np.int8),
    32768,
    BLOCK=32,
)
