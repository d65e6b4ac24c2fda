"""A tile that nobody filled, read through a descriptor."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [M, N]).load([0, 0])
    #~^ ERROR: of `x_ptr` that nothing has written
    tl.store(out_ptr, tl.sum(x))


total[(1,)](np.empty((16, 16), np.float32), np.zeros(1, np.float32), M=16, N=16)
