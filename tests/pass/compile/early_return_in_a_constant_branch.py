"""Instances return early from inside an `if` whose condition is constant; the others go on."""

import numpy as np

import triton
import triton.language as tl


@triton.jit
def ones(mask_ptr, out_ptr):
    pid = tl.program_id(0)
    if mask_ptr is not None:
        if tl.load(mask_ptr + pid) == 0:
            return
    tl.store(out_ptr + pid, 1.0)


mask, out = np.array([1, 0, 1, 1], np.int32), np.zeros(4, np.float32)
ones[(4,)](mask, out)
assert (out == mask).all()
