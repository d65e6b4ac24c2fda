"""Neighbouring bytes of one word belong to different program instances."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def mark(out_ptr):
    tl.store(out_ptr + tl.program_id(0), 1)


out = np.zeros(8, np.int8)
mark[(8,)](out)
assert (out == 1).all()
