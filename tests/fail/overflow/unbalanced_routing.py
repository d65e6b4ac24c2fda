"""Rows are copied by an index from memory; only the last rows of a large buffer wrap."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy_rows(rows_ptr, x_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.load(rows_ptr + tl.program_id(0))
    cols = tl.arange(0, BLOCK)
    tl.store(x_ptr + row * n_cols + cols, 1)  #~ ERROR: a wrapped integer is used as an offset


copy_rows[(3,)](
    np.array([0, 7, 299594], np.int32), np.empty((299595, 7168), np.int8), 7168, BLOCK=64
)
