"""Integers, and floats that hold small integers: nothing is rounded, and nothing is said."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def exact(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    y = tl.load(y_ptr + n).to(tl.float32)
    tl.store(out_ptr + n, (tl.load(x_ptr + n) * 3 + n).to(tl.float32) + y * 2.0)


exact[(1,)](np.arange(64), np.arange(64), np.zeros(64, np.float32), N=64)


# What `blockstep precision` says:
#
#     exact, grid (1, 1, 1)
#       exact: nothing is rounded
