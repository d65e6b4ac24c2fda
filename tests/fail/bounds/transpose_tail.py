"""A transpose with tiles that do not divide the shape, and no masks."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def transpose(x_ptr, out_ptr, M, N, B: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)[:, None]
    cols = tl.program_id(1) * B + tl.arange(0, B)[None, :]
    x = tl.load(x_ptr + rows * N + cols)  #~ ERROR: this load reads past the end of `x_ptr`
    tl.store(out_ptr + cols * M + rows, x, mask=(rows < M) & (cols < N))


transpose[(2, 2)](np.ones((48, 50), np.float32), np.zeros((50, 48), np.float32), 48, 50, B=32)
