# The loop has no turn for arrays this short: nothing was to be done, and nothing is said.
import numpy as np

import triton
import triton.language as tl


@triton.jit
def add_later_chunks(x_ptr, n, size: tl.constexpr):
    for chunk in range(1, tl.cdiv(n, size)):
        offs = chunk * size + tl.arange(0, size)
        tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + 1, mask=offs < n)


add_later_chunks[(2,)](np.zeros(8, np.float32), 8, size=16)
