"""A loop writes a row and reads the row before it, in the same array, transposed."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def rounds(x_ptr, N: tl.constexpr):
    row, col = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    for _ in range(3):
        x = tl.load(x_ptr + col * N + row)
        #~^ WARN: this load reads back what the same program instance stored to `x_ptr`
        tl.store(x_ptr + row * N + col, x)


rounds[(1,)](np.arange(256, dtype=np.float32).reshape(16, 16), N=16)
