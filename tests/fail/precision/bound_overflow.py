"""A float32 accumulator is stored to float16, which ends at 65504."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision overflow

@triton.jit
def squares(x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    x = tl.load(x_ptr + n)
    tl.store(out_ptr + n, x * x)
    #~^ ERROR: `out_ptr` is inf where float64 has a number


squares[(1,)](np.array([1, 2, 300, 4], np.float32), np.zeros(4, np.float16), N=4)
