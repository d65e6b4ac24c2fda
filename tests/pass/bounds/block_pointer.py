"""The same block pointer with `boundary_check`."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    block = tl.make_block_ptr(
        x_ptr, (M, N), (N, 1), (tl.program_id(0) * BLOCK_M, 0), (BLOCK_M, BLOCK_N), (1, 0)
    )
    x = tl.load(block, boundary_check=(0, 1))
    out = tl.make_block_ptr(
        out_ptr, (M, N), (N, 1), (tl.program_id(0) * BLOCK_M, 0), (BLOCK_M, BLOCK_N), (1, 0)
    )
    tl.store(out, x, boundary_check=(0, 1))


out = np.zeros((24, 16), np.float32)
copy[(2,)](np.ones((24, 16), np.float32), out, 24, 16, BLOCK_M=16, BLOCK_N=16)
assert (out == 1).all()
