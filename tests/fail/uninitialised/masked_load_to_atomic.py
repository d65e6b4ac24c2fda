"""A sum over masked lanes is added by an atomic."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.atomic_add(out_ptr, tl.sum(x))
    #~^ ERROR: an undefined value goes into `out_ptr` through this atomic_add


total[(1,)](np.ones(50, np.float32), np.zeros(1, np.float32), 50, BLOCK=64)
