"""A column, read with its stride."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs * stride, mask=offs < n)
    tl.store(out_ptr + offs, x, mask=offs < n)


column = np.arange(256, dtype=np.float32).reshape(16, 16)[:, 3]
out = np.zeros(16, np.float32)
copy[(1,)](column, out, 16, column.strides[0] // 4, BLOCK=16)
assert (out == column).all()
