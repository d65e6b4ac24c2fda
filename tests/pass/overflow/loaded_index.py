"""The loaded index is widened."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def gather_rows(index_ptr, x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    row = tl.load(index_ptr + tl.program_id(0)).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    tl.store(out_ptr + cols, tl.load(x_ptr + row * stride + cols))


x = np.empty((70001, 32768), np.int8)
x[70000, :32] = 5
out = np.zeros(32, np.int8)
gather_rows[(1,)](np.full(1, 70000, np.int32), x, out, 32768, BLOCK=32)
assert (out == 5).all()
