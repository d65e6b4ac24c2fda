"""Tiles side by side, and an atomic reduction into one tile."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, sum_ptr, M, N: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    desc = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [B, N])
    sums = tl.make_tensor_descriptor(sum_ptr, [B, N], [N, 1], [B, N])
    tile = tl.full((B, N), 1.0, tl.float32)
    desc.store([pid * B, 0], tile)
    sums.atomic_add([0, 0], tile)


sums = np.zeros((16, 8), np.float32)
fill[(2,)](np.zeros((32, 8), np.float32), sums, 32, N=8, B=16)
assert (sums == 2).all()
