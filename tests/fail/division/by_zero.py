"""An integer quotient by a count that is zero somewhere."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def mean(total_ptr, count_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mean = tl.load(total_ptr + offs) // tl.load(count_ptr + offs)
    tl.store(out_ptr + offs, mean)  #~ ERROR: a quotient by zero is stored to `out_ptr`


mean[(1,)](np.full(8, 6, np.int32), np.arange(8, dtype=np.int32), np.zeros(8, np.int32), BLOCK=8)
