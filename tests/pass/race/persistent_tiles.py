"""Few program instances take many tiles each, in turns."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        offs = tile * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n)
        tl.store(x_ptr + offs, x * 2, mask=offs < n)


x = np.ones(1000, np.float32)
double[(3,)](x, 1000, BLOCK=64)
assert (x == 2).all()
