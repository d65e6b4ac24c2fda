"""Undefined lanes go through reshapes, transposes, joins and splits, and stay where they are."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def through(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    x = tl.trans(tl.trans(tl.reshape(x, (BLOCK // 4, 4))))
    x = tl.permute(x[None, :, :], (0, 1, 2)).reshape(BLOCK)
    a, b = tl.split(tl.join(x, x + 1))
    y = tl.broadcast_to(tl.expand_dims(a + b, 0), (2, BLOCK))
    tl.store(out_ptr + offs, tl.max(y, axis=0), mask=mask)


out = np.zeros(50, np.float32)
through[(1,)](np.ones(50, np.float32), out, 50, BLOCK=64)
assert (out == 3).all()
