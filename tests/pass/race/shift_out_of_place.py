"""The same shift into another array."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def shift(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs + 1, mask=offs < n - 1, other=0.0)
    tl.store(out_ptr + offs, x, mask=offs < n)


out = np.zeros(128, np.float32)
shift[(4,)](np.arange(128, dtype=np.float32), out, 128, BLOCK=32)
assert out[126] == 127 and out[127] == 0
