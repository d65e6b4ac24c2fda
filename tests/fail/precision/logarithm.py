"""The logarithm of a negative number, in a function that the kernel calls."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def entropy(p):
    return -p * tl.log(p)


@triton.jit
def total(p_ptr, out_ptr, BLOCK: tl.constexpr):
    p = tl.load(p_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.sum(entropy(p), axis=0))
    #~^ WARN: this store writes NaN to `out_ptr`


total[(1,)](np.array([0.5, 0.25, -0.25, 0.5], np.float32), np.zeros(1, np.float32), BLOCK=4)
