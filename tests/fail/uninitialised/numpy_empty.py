"""An accumulator that comes from `numpy.empty`, and is added to."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def accumulate(x_ptr, acc_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.load(acc_ptr + offs)
    #~^ ERROR: this load reads 128 bytes of `acc_ptr` that nothing has written
    tl.store(acc_ptr + offs, acc + tl.load(x_ptr + offs))


accumulate[(1,)](np.ones(32, np.float32), np.empty(32, np.float32), BLOCK=32)
