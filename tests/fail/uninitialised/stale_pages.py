"""Rows outside a window have weight zero, but were never written: 0 times NaN is NaN."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def weighted(w_ptr, v_ptr, out_ptr, N: tl.constexpr, D: tl.constexpr):
    row, col = tl.arange(0, N)[:, None], tl.arange(0, D)[None, :]
    v = tl.load(v_ptr + row * D + col)  #~ ERROR: of `v_ptr` that nothing has written
    w = tl.load(w_ptr + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, D), tl.sum(w[:, None] * v, axis=0))


w, v = np.zeros(16, np.float32), np.empty((16, 8), np.float32)
w[:4], v[:4] = 0.25, 1
weighted[(1,)](w, v, np.zeros(8, np.float32), N=16, D=8)
