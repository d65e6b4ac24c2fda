"""Two blocks whose shapes do not go together."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, A))
    y = tl.load(x_ptr + tl.arange(0, B))
    tl.store(out_ptr + tl.arange(0, A), x + y)
    #~^ ERROR: incompatible dimensions at index 0: 32 and 16


add[(1,)](np.zeros(32, np.float32), np.zeros(32, np.float32), A=32, B=16)
