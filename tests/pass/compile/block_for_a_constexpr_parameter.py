"""A device function takes a block for a parameter annotated `tl.constexpr`, as Triton does."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def put(p, offs: tl.constexpr, value: tl.constexpr):
    tl.store(p + offs, value)


@triton.jit
def fill(p, n: tl.constexpr):
    put(p, tl.arange(0, n), 2.0)


x = np.zeros(16, np.float32)
fill[(1,)](x, 16)
assert (x == 2).all()
