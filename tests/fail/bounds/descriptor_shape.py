"""A tensor descriptor says that `x` has more rows than it has: it believes that."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, [M + 8, N], [N, 1], [BLOCK_M, BLOCK_N])
    row = tl.program_id(0) * BLOCK_M
    x = x_desc.load([row, 0])  #~ ERROR: past the end of `x_ptr`
    out_desc = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    out_desc.store([row, 0], x)


copy[(2,)](
    np.ones((24, 16), np.float32), np.zeros((24, 16), np.float32), 24, 16, BLOCK_M=16, BLOCK_N=16
)
