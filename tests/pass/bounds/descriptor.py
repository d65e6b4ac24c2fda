"""A descriptor checks its own boundary: what lies outside reads as zero and is not stored."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    out_desc = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    out_desc.store([row, 0], x_desc.load([row, 0]))


out = np.zeros((24, 16), np.float32)
copy[(2,)](np.ones((24, 16), np.float32), out, 24, 16, BLOCK_M=16, BLOCK_N=16)
assert (out == 1).all()
