"""A barrier between the two stores."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def pad(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))
    tl.debug_barrier()
    tail = n + tl.arange(0, 16)
    tl.store(out_ptr + tail, -1.0, mask=tail < BLOCK)


out = np.zeros(64, np.float32)
pad[(1,)](np.ones(64, np.float32), out, 50, BLOCK=64)
assert (out[:50] == 1).all() and (out[50:] == -1).all()
