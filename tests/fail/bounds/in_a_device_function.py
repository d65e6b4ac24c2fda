"""The load stands in a function that the kernel calls: both places are shown."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def fetch(ptr, offs):
    return tl.load(ptr + offs)  #~ ERROR: this load reads past the end of `x_ptr`


@triton.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, fetch(x_ptr, offs), mask=offs < n)


copy[(1,)](np.ones(50, np.float32), np.zeros(50, np.float32), 50, BLOCK=64)
