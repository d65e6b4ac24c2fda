"""Philox multiplies and wraps; its random numbers become a mask."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def dropout(x_ptr, out_ptr, seed, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    keep = tl.rand(seed, offs) > 0.5
    tl.store(out_ptr + offs, tl.where(keep, tl.load(x_ptr + offs) * 2, 0.0))
    tl.store(out_ptr + offs, 7.0, mask=keep & (tl.randint(seed, offs) % 2 == 0))


dropout[(1,)](np.ones(64, np.float32), np.zeros(64, np.float32), 1234, BLOCK=64)
