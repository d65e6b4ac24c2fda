"""A block pointer, loaded without `boundary_check`, reaches past the last row."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    block = tl.make_block_ptr(
        x_ptr, (M, N), (N, 1), (tl.program_id(0) * BLOCK_M, 0), (BLOCK_M, BLOCK_N), (1, 0)
    )
    x = tl.load(block)  #~ ERROR: this load reads past the end of `x_ptr`
    out = tl.make_block_ptr(
        out_ptr, (M, N), (N, 1), (tl.program_id(0) * BLOCK_M, 0), (BLOCK_M, BLOCK_N), (1, 0)
    )
    tl.store(out, x, boundary_check=(0, 1))


copy[(2,)](
    np.ones((24, 16), np.float32), np.zeros((24, 16), np.float32), 24, 16, BLOCK_M=16, BLOCK_N=16
)
