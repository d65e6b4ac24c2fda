"""A sum of integers is the same in every order."""
#~ FLAGS: --seeds 8

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(out_ptr, tl.sum(x))


out = np.zeros(1, np.int32)
total[(8,)](np.arange(256, dtype=np.int32), out, BLOCK=32)
assert out[0] == 255 * 128
