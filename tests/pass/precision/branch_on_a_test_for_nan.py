"""Branches that ask whether a value is a number."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def step(x_ptr, loss_ptr):
    loss = tl.sqrt(tl.load(loss_ptr))
    if loss != loss:
        tl.store(x_ptr, 0.0)
    if tl.abs(loss) == float("inf"):
        tl.store(x_ptr, 1.0)


step[(1,)](np.zeros(1, np.float32), np.full(1, -2.0, np.float32))
