"""Each load is masked by its own length."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, m, y_stride, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs * y_stride, mask=offs < m, other=0.0)
    tl.store(out_ptr + offs, x + y, mask=mask)


n = 100
x, y, out = np.ones(n, np.float32), np.ones(n, np.float32)[::2], np.zeros(n, np.float32)
add[(1,)](x, y, out, n, n // 2, 2, BLOCK=128)
assert (out[:50] == 2).all() and (out[50:] == 1).all()
