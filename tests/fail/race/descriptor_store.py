"""Tiles of a descriptor that overlap by half."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fill(out_ptr, M, N: tl.constexpr, B: tl.constexpr):
    pid = tl.program_id(0)
    desc = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [B, N])
    tile = tl.full((B, N), 1.0, tl.float32) * pid
    desc.store([pid * (B // 2), 0], tile)
    #~^ ERROR: `out_ptr` is written by two program instances


fill[(3,)](np.zeros((32, 8), np.float32), 32, N=8, B=16)
