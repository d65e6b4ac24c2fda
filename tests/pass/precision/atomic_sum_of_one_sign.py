"""Infinities of one sign add up to infinity."""

import numpy as np

import triton
import triton.language as tl

#~ FLAGS: --precision

@triton.jit
def add(x_ptr, total_ptr):
    tl.atomic_add(total_ptr, tl.load(x_ptr + tl.program_id(0)))


add[(2,)](np.array([np.inf, np.inf], np.float32), np.zeros(1, np.float32))
