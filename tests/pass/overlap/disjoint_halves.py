"""Two stores to the two halves of a row, then loads of what each lane stored."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def rotate(x_ptr, HALF: tl.constexpr):
    offs = tl.arange(0, HALF)
    a, b = tl.load(x_ptr + offs), tl.load(x_ptr + HALF + offs)
    tl.store(x_ptr + offs, -b)
    tl.store(x_ptr + HALF + offs, a)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs) * 2)


rotate[(1,)](np.arange(32, dtype=np.float32), HALF=16)
