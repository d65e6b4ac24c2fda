"""A transpose in place by tiles: program instances (i, j) and (j, i) share both tiles."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def transpose(x_ptr, N: tl.constexpr, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)[:, None]
    cols = tl.program_id(1) * B + tl.arange(0, B)[None, :]
    x = tl.load(x_ptr + rows * N + cols)
    tl.store(x_ptr + cols * N + rows, x)
    #~^ ERROR: `x_ptr` is read and written by two program instances


transpose[(2, 2)](np.arange(1024, dtype=np.float32).reshape(32, 32), N=32, B=16)
