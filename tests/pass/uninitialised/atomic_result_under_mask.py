"""What a masked atomic gives back is used under the same mask."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def append(x_ptr, count_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0)
    positive = x > 0
    at = tl.atomic_add(count_ptr + offs * 0, 1, mask=positive)
    tl.store(out_ptr + at, x, mask=positive)


x, count, out = np.arange(50, dtype=np.int32) - 25, np.zeros(1, np.int32), np.zeros(50, np.int32)
append[(1,)](x, count, out, 50, BLOCK=64)
assert count[0] == 24
