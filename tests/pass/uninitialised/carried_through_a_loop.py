"""A loop-carried accumulator whose undefined lanes are stored under the mask of its loads."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def accumulate(x_ptr, out_ptr, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    acc = tl.zeros((BLOCK,), tl.float32)
    for row in range(ROWS):
        acc += tl.load(x_ptr + row * n + offs, mask=mask)
    tl.store(out_ptr + offs, acc, mask=mask)


out = np.empty(50, np.float32)
accumulate[(1,)](np.ones((4, 50), np.float32), out, 50, ROWS=4, BLOCK=64)
assert (out == 4).all()
