"""A linear congruential generator wraps, and its numbers are only stored."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def random(seed_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    state = tl.load(seed_ptr + offs)
    for _ in range(4):
        state = state * 1664525 + 1013904223
    tl.store(out_ptr + offs, state)


random[(1,)](np.arange(32, dtype=np.int32), np.zeros(32, np.int32), BLOCK=32)
