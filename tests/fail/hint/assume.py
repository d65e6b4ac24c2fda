"""The compiler is told that n is even."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def half(out_ptr, n):
    tl.assume(n % 2 == 0)  #~ ERROR: `assume` promises
    tl.store(out_ptr, n // 2)


half[(1,)](np.zeros(1, np.int32), 7)
