"""A maximum over all program instances by an atomic."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def largest(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_max(out_ptr, tl.max(x))


out = np.zeros(1, np.float32)
largest[(4,)](np.arange(128, dtype=np.float32), out, BLOCK=32)
assert out[0] == 127
