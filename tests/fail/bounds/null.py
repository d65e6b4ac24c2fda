"""No array is passed for `bias`, and the kernel loads it anyway."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def add_bias(table_ptr, out_ptr, BLOCK: tl.constexpr):
    bias_ptr = tl.load(table_ptr).to(tl.pointer_type(tl.float32))
    offs = tl.arange(0, BLOCK)
    bias = tl.load(bias_ptr + offs)  #~ ERROR: this load reads through a null pointer
    tl.store(out_ptr + offs, bias)


add_bias[(1,)](np.zeros(1, np.int64), np.zeros(16, np.float32), BLOCK=16)
